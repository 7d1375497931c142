// Cursors and pauses, by the calls of a queue.

#include <future>
#include <string>

#include <gtest/gtest.h>

#include "tests/engine/queue/queue_fixture.h"

namespace wq {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::seconds;

using QueueChangeTest = QueueTest;

// --- Cursors ---

TEST_F(QueueChangeTest, CursorsAreBytesInOrderWithTheAddsBeforeThem) {
  ASSERT_TRUE(queue_->Add("a", {.durability = Durability::kAsync}).ok());
  const std::string value("at\0 5", 5);
  ASSERT_TRUE(queue_->SetCursor("watch", value).ok());
  ASSERT_TRUE(queue_->SetCursor("empty", "").ok());
  EXPECT_EQ(RecordsOnDisk(storage::Family::kDirty), 1U);
  CloseAndOpen();
  std::string found;
  ASSERT_TRUE(queue_->GetCursor("watch", &found).ok());
  EXPECT_EQ(found, value);
  EXPECT_EQ(queue_->Cursors().size(), 2U);
  ASSERT_TRUE(queue_->EraseCursor("watch").ok());
  EXPECT_EQ(queue_->EraseCursor("watch").code(), StatusCode::kNotFound);
  CloseAndOpen();
  EXPECT_EQ(queue_->GetCursor("watch", &found).code(), StatusCode::kNotFound);
}

TEST_F(QueueChangeTest, BadCursorsAreRefused) {
  EXPECT_EQ(queue_->SetCursor("", "v").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(queue_->SetCursor("a/b", "v").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(queue_->SetCursor("big", std::string(kMaxCursorBytes + 1, 'x')).code(),
            StatusCode::kInvalidArgument);
  EXPECT_TRUE(queue_->SetCursor("big", std::string(kMaxCursorBytes, 'x')).ok());
}

// --- Pausing ---

TEST_F(QueueChangeTest, ResumeWakesAWaitingGet) {
  Add("a");
  ASSERT_TRUE(queue_->Pause().ok());
  EXPECT_TRUE(queue_->Counts().paused);
  auto key = GetInBackground();
  ASSERT_TRUE(queue_->Resume().ok());
  EXPECT_EQ(key.get(), "a");
}

TEST_F(QueueChangeTest, ThePausesOwnEndWakesAWaitingGet) {
  Add("a");
  ASSERT_TRUE(queue_->Pause(seconds(30)).ok());
  auto key = GetInBackground();
  clock_.Advance(seconds(30));
  EXPECT_EQ(key.get(), "a");
  EXPECT_EQ(queue_->Pause(microseconds(0)).code(), StatusCode::kInvalidArgument);
}

TEST_F(QueueChangeTest, ShutDownOfAPausedQueueLeavesItsKeys) {
  Add("a");
  ASSERT_TRUE(queue_->Pause().ok());
  auto key = GetInBackground();
  EXPECT_TRUE(queue_->ShutDownWithDrain(hours(1)).ok());
  EXPECT_EQ(key.get(), "ShuttingDown");
  CloseAndOpen();
  EXPECT_EQ(Get(), "TimedOut");  // Still paused.
  ASSERT_TRUE(queue_->Resume().ok());
  EXPECT_EQ(Get(), "a");
}

}  // namespace
}  // namespace wq
