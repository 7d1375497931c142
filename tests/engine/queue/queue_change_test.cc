// What ends a quarantine, cursors and pauses, by the calls of a queue.

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/engine/queue/queue_fixture.h"
#include "wq/limiter.h"
#include "wq/queue_access.h"

namespace wq {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::seconds;

using QueueChangeTest = QueueTest;

// --- Quarantine ---

struct Forgetting {
  const char* name;
  std::function<Status(Queue*)> call;
};

const Forgetting kForgettings[] = {
    {"Forget", [](Queue* q) { return q->Forget("bad"); }},
    {"Delete", [](Queue* q) { return q->Delete("bad"); }},
    {"Quarantine", [](Queue* q) { return q->Quarantine("bad"); }},
    {"TheLastFailure", [](Queue* q) { return q->AddRateLimited("bad"); }},
    {"AFailureInQuarantine",
     [](Queue* q) {
       EXPECT_TRUE(q->Quarantine("bad").ok());
       return q->AddRateLimited("bad");
     }},
};

// Counts failures by itself, as client-go's limiters do.
class OwnCounts final : public Limiter {
 public:
  microseconds When(std::string_view key, uint64_t, Time) override {
    return seconds(int64_t{1} << counts_[std::string(key)]++);
  }
  void Forget(std::string_view key) override { counts_.erase(std::string(key)); }

 private:
  std::map<std::string, int> counts_;
};

TEST_F(QueueChangeTest, TheLimiterForgetsTheKeyAndNoOther) {
  for (const Forgetting& forgetting : kForgettings) {
    SCOPED_TRACE(forgetting.name);
    const auto limiter = std::make_shared<OwnCounts>();
    CloseAndOpen({.max_requeues = 6, .limiter = limiter});
    for (int i = 0; i < 6; ++i) {
      ASSERT_TRUE(queue_->AddRateLimited("bad").ok());
      ASSERT_TRUE(queue_->AddRateLimited("failing").ok());
    }
    ASSERT_TRUE(forgetting.call(queue_).ok());
    EXPECT_EQ(limiter->When("bad", 0, {}), seconds(1));
    EXPECT_EQ(limiter->When("failing", 0, {}), seconds(64));
    static_cast<void>(queue_->Delete("bad"));
    static_cast<void>(queue_->Delete("failing"));
  }
}

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
