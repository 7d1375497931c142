// ShutDown, ShutDownWithDrain, Stop and Close: which calls they refuse, which waiting calls they
// end, and what stays in the store.

#include <future>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/queue/queue_fixture.h"
#include "tests/support/wait.h"
#include "wq/limiter.h"

namespace wq {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

TEST_F(QueueTest, ShutDownRefusesAddsAndHandsOutWhatIsQueued) {
  Add("a");
  ASSERT_TRUE(queue_->AddAfter("d", seconds(1)).ok());
  queue_->ShutDown();
  EXPECT_TRUE(queue_->IsShuttingDown());
  EXPECT_EQ(queue_->Add("b").code(), StatusCode::kShuttingDown);
  EXPECT_EQ(queue_->AddAfter("b", seconds(1)).code(), StatusCode::kShuttingDown);
  EXPECT_EQ(queue_->AddRateLimited("b").code(), StatusCode::kShuttingDown);
  EXPECT_EQ(queue_->AddBatch(std::vector<std::string_view>{"b"}).code(), StatusCode::kShuttingDown);
  clock_.Advance(hours(1));
  EXPECT_EQ(queue_->Len(), 1U);  // Nothing fires any more.
  EXPECT_EQ(Get(), "a");
  EXPECT_EQ(Get(), "ShuttingDown");
  EXPECT_TRUE(queue_->Done("a").ok());
  CloseAndOpen();
  EXPECT_EQ(Get(), "d");
  EXPECT_EQ(Get(), "TimedOut");
}

TEST_F(QueueTest, AWorkerMayStillAddTheKeyThatItHoldsWithoutADelay) {
  Add("a");
  Add("b");
  ASSERT_EQ(Get(), "a");
  queue_->ShutDown();
  EXPECT_EQ(queue_->AddAfter("b", seconds(0)).code(), StatusCode::kShuttingDown);
  ASSERT_TRUE(queue_->AddAfter("a", seconds(0)).ok());
  ASSERT_TRUE(queue_->Done("a").ok());
  EXPECT_EQ(Get(), "b");
  EXPECT_EQ(Get(), "ShuttingDown");
  CloseAndOpen();
  clock_.Advance(seconds(1));
  EXPECT_EQ(Get(), "b");
  EXPECT_EQ(Get(), "a");
}

TEST_F(QueueTest, ShutDownReleasesBlockedGets) {
  std::vector<std::future<std::string>> waiters;
  for (int i = 0; i < 4; ++i) {
    waiters.push_back(GetInBackground());
  }
  queue_->ShutDown();
  for (auto& waiter : waiters) {
    EXPECT_EQ(waiter.get(), "ShuttingDown");
  }
}

TEST_F(QueueTest, ADrainWaitsForQueuedAndProcessing) {
  Add("a");
  ASSERT_EQ(Get(), "a");
  Add("a");
  auto drain = std::async(std::launch::async, [&] { return queue_->ShutDownWithDrain(hours(1)); });
  EXPECT_TRUE(support::Eventually([&] { return queue_->IsShuttingDown(); }));
  ASSERT_TRUE(queue_->Done("a").ok());  // It was dirty: queued again, so not drained yet.
  ASSERT_EQ(Get(), "a");
  EXPECT_EQ(drain.wait_for(seconds(0)), std::future_status::timeout);
  ASSERT_TRUE(queue_->Done("a").ok());
  EXPECT_TRUE(drain.get().ok());
}

TEST_F(QueueTest, RemovingTheLastKeyEndsADrain) {
  Add("a");
  auto drain = std::async(std::launch::async, [&] { return queue_->ShutDownWithDrain(hours(1)); });
  EXPECT_TRUE(support::Eventually([&] { return queue_->IsShuttingDown(); }));
  ASSERT_TRUE(queue_->Remove("a").ok());
  EXPECT_TRUE(drain.get().ok());
}

TEST_F(QueueTest, ADrainEndsAtItsDeadline) {
  Add("a");
  const Status s = queue_->ShutDownWithDrain(milliseconds(1));
  EXPECT_EQ(s.code(), StatusCode::kTimedOut);
  EXPECT_THAT(s.message(), HasSubstr("1 queued, 0 processing"));
}

TEST_F(QueueTest, ALaterShutDownReleasesADrain) {
  Add("a");
  auto drain = std::async(std::launch::async, [&] { return queue_->ShutDownWithDrain(hours(1)); });
  EXPECT_TRUE(support::Eventually([&] { return queue_->IsShuttingDown(); }));
  queue_->ShutDown();
  EXPECT_EQ(drain.get().code(), StatusCode::kShuttingDown);
}

TEST_F(QueueTest, CallsAfterCloseAreRefusedAndChangeNothing) {
  Add("a");
  Add("b");
  ASSERT_EQ(Get(), "a");
  ASSERT_TRUE(store_->Close().ok());
  EXPECT_EQ(queue_->Done("a").code(), StatusCode::kShuttingDown);
  EXPECT_EQ(queue_->PutBack("a").code(), StatusCode::kShuttingDown);
  EXPECT_EQ(queue_->Add("c").code(), StatusCode::kShuttingDown);
  EXPECT_EQ(queue_->AddRateLimited("a").code(), StatusCode::kShuttingDown);
  EXPECT_EQ(queue_->Forget("a").code(), StatusCode::kShuttingDown);
  uint64_t token = 0;
  EXPECT_EQ(store_->ReserveTokens(1, &token).code(), StatusCode::kShuttingDown);
  EXPECT_EQ(Get(), "ShuttingDown");
  EXPECT_TRUE(store_->Close().ok());  // Again.
  Open();
  EXPECT_EQ(Get(), "a");
  EXPECT_EQ(Get(), "b");
}

TEST_F(QueueTest, CloseReleasesBlockedGets) {
  auto waiter = GetInBackground();
  ASSERT_TRUE(store_->Close().ok());
  EXPECT_EQ(waiter.get(), "ShuttingDown");
}

}  // namespace
}  // namespace wq
