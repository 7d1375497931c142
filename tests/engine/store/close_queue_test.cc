// A queue that is closed, and opened again, while its store stays open.

#include <future>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>

#include "tests/engine/queue/queue_fixture.h"
#include "wq/internal/queue_calls.h"

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
  EXPECT_TRUE(queue_->List(10).empty());
  EXPECT_TRUE(queue_->Quarantined().empty());
  EXPECT_TRUE(queue_->Cursors().empty());
  EXPECT_EQ(queue_->ShutDownWithDrain(microseconds(0)).code(), StatusCode::kShuttingDown);
  OpenQueueAgain();
  EXPECT_EQ(Get(), "held");
  EXPECT_EQ(queue_->Cursors().size(), 1U);
}

TEST_F(CloseQueueTest, EveryCallOfAClosedQueueAnswersBesideItsClosing) {
  constexpr int kRounds = 20;
  constexpr auto kClosed = StatusCode::kShuttingDown;
  const std::vector<std::string_view> keys = {"a", "b", "c"};
  for (int round = 0; round < kRounds; ++round) {
    Queue* const queue = queue_;
    std::promise<void> running;
    auto adder = std::async(std::launch::async, [&, queue] {
      for (int i = 0;; ++i) {
        const std::string key = std::to_string(i % 100);
        const Status added = queue->Add(key);
        for (const Status& s :
             {queue->AddBatch(keys), queue->AddAfter(key, hours(1)), queue->AddRateLimited(key),
              queue->Forget(key), queue->Quarantine("q"), queue->SetCursor("c", key),
              SetLimits(queue, {}, {.max_processing = 1}), queue->Resume()}) {
          EXPECT_TRUE(s.ok() || s.code() == kClosed) << s.ToString();
        }
        if (added.code() == kClosed) {
          return;
        }
        if (i == 10) {
          running.set_value();
        }
      }
    });
    auto reader = std::async(std::launch::async, [queue] {
      for (bool open = true; open;) {
        open = !queue->IsShuttingDown();
        const auto visit = [](const KeyInfo&) { return true; };
        EXPECT_TRUE(queue->Scan(visit).ok());
        EXPECT_TRUE(queue->ListenReady([] {}) != nullptr);
        EXPECT_EQ(queue->Add(std::string(5000, 'k')).code(), StatusCode::kInvalidArgument);
        EXPECT_LE(queue->List(3).size(), 3U);
        size_t position = 0;
        const Status s = queue->PositionOf("1", &position);
        EXPECT_TRUE(s.ok() || s.code() == StatusCode::kNotFound) << s.ToString();
        EXPECT_LE(queue->Cursors().size(), 1U);
        EXPECT_LE(queue->Quarantined().size(), 1U);
        queue->Counts();
      }
    });
    auto getter = std::async(std::launch::async, [queue] {
      std::string key;
      while (queue->Get(&key).ok()) {
        const Status s = queue->Done(key);
        EXPECT_TRUE(s.ok() || s.code() == kClosed) << s.ToString();
      }
    });
    running.get_future().wait();
    CloseQueue();
    adder.get();
    reader.get();
    getter.get();
    EXPECT_EQ(queue->Len(), 0U);
    EXPECT_EQ(queue->Flush().code(), StatusCode::kOk);
    queue->ShutDown();
    queue->Stop();
    OpenQueueAgain();
  }
}

TEST_F(CloseQueueTest, ItIsNotClosedBeforeItsChangesAreWritten) {
  FailWrites();
  EXPECT_EQ(queue_->Add("a").code(), StatusCode::kNotDurable);
  EXPECT_EQ(store_->CloseQueue(queue_).code(), StatusCode::kNotDurable);
  DiskIsBack();
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
