// A queue that is closed, and opened again, while its store stays open.

#include <gmock/gmock.h>

#include "tests/engine/queue/queue_fixture.h"

namespace wq {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;

class CloseQueueTest : public QueueTest {
 protected:
  void CloseQueue() {
    const Status s = store_->CloseQueue(queue_);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  void OpenQueueAgain() {
    const Status s = store_->OpenQueue("q", queue_options_, &queue_);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
};

TEST_F(CloseQueueTest, AClosedQueueOpensAgainWithItsKeys) {
  Add("held");
  Add("queued");
  ASSERT_TRUE(queue_->AddAfter("delayed", hours(1)).ok());
  ASSERT_TRUE(queue_->AddRateLimited("failed").ok());
  ASSERT_EQ(Get(), "held");
  CloseQueue();
  EXPECT_EQ(store_->FindQueue("q"), nullptr);
  OpenQueueAgain();
  EXPECT_EQ(store_->FindQueue("q"), queue_);
  EXPECT_EQ(Get(), "held");
  EXPECT_EQ(Get(), "queued");
  EXPECT_EQ(Get(), "TimedOut");
  EXPECT_EQ(queue_->NumRequeues("failed"), 1U);
  clock_.Advance(hours(1));
  EXPECT_EQ(Get(), "failed");
  EXPECT_EQ(Get(), "delayed");
}

TEST_F(CloseQueueTest, TheClosedQueueChangesNothingAnyMore) {
  Add("a");
  ASSERT_TRUE(queue_->AddAfter("due", hours(1)).ok());
  ASSERT_EQ(Get(), "a");
  Queue* const closed = queue_;
  CloseQueue();
  OpenQueueAgain();
  EXPECT_EQ(closed->Add("b").code(), StatusCode::kShuttingDown);
  EXPECT_EQ(closed->Done("a").code(), StatusCode::kShuttingDown);
  EXPECT_EQ(closed->Remove("a").code(), StatusCode::kShuttingDown);
  EXPECT_EQ(closed->SetCursor("c", "1").code(), StatusCode::kShuttingDown);
  clock_.Advance(hours(1));
  EXPECT_EQ(closed->Len(), 0U);  // Fires nothing that is due.
  std::string key;
  EXPECT_EQ(closed->GetFor(microseconds(0), &key).code(), StatusCode::kShuttingDown);
  EXPECT_TRUE(store_->CloseQueue(closed).ok());  // Does not close the queue that is open now.
  EXPECT_EQ(Get(), "a");
  EXPECT_EQ(Get(), "due");
}

TEST_F(CloseQueueTest, ReadingsShowAnEmptyQueueAndADrainDoesNotSucceed) {
  Add("held");
  Add("queued");
  ASSERT_TRUE(queue_->AddAfter("delayed", hours(1)).ok());
  ASSERT_TRUE(queue_->AddRateLimited("failed").ok());
  ASSERT_TRUE(queue_->Quarantine("quarantined").ok());
  ASSERT_TRUE(queue_->SetCursor("c", "1").ok());
  ASSERT_EQ(Get(), "held");
  CloseQueue();
  const QueueCounts counts = queue_->Counts();
  EXPECT_EQ(counts.queued + counts.processing + counts.delayed, 0U);
  EXPECT_EQ(counts.failing + counts.quarantined, 0U);
  EXPECT_TRUE(queue_->List(0, 10).empty());
  EXPECT_TRUE(queue_->Quarantined().empty());
  EXPECT_TRUE(queue_->Cursors().empty());
  EXPECT_EQ(queue_->ShutDownWithDrain(microseconds(0)).code(), StatusCode::kShuttingDown);
  OpenQueueAgain();
  EXPECT_EQ(Get(), "held");
  EXPECT_EQ(queue_->Cursors().size(), 1U);
}

TEST_F(CloseQueueTest, AWaitingGetEnds) {
  auto waiting = GetInBackground();
  CloseQueue();
  EXPECT_EQ(waiting.get(), "ShuttingDown");
}

TEST_F(CloseQueueTest, OtherQueuesGoOn) {
  Queue* other = nullptr;
  ASSERT_TRUE(store_->OpenQueue("other", {}, &other).ok());
  Add("a");
  CloseQueue();
  for (const char* key : {"x", "y"}) {
    ASSERT_TRUE(other->Add(key).ok());
  }
  OpenQueueAgain();
  Add("b");
  EXPECT_EQ(other->Len(), 2U);
  EXPECT_EQ(Get(), "a");
  EXPECT_EQ(Get(), "b");
}

TEST_F(CloseQueueTest, ItIsNotClosedBeforeItsChangesAreWritten) {
  FailWrites();
  EXPECT_EQ(queue_->Add("a").code(), StatusCode::kNotDurable);
  EXPECT_EQ(store_->CloseQueue(queue_).code(), StatusCode::kNotDurable);
  {
    const MutexLock lock(disk_->mu);
    disk_->state.fail_after = UINT64_MAX;
    disk_->state.apply_failed = false;
  }
  ASSERT_TRUE(store_->Recover().ok());
  CloseQueue();
  OpenQueueAgain();
  EXPECT_EQ(Get(), "a");
}

TEST_F(CloseQueueTest, ClosingTheStoreAfterwardsIsPossible) {
  CloseQueue();
  ASSERT_TRUE(store_->Close().ok());
  CloseQueue();
}

TEST_F(CloseQueueTest, AQueueInMemoryLosesItsKeys) {
  ASSERT_TRUE(Store::OpenInMemory({.clock = &clock_}, &store_).ok());
  OpenQueueAgain();
  Add("a");
  CloseQueue();
  OpenQueueAgain();
  EXPECT_EQ(Get(), "TimedOut");
}

}  // namespace
}  // namespace wq
