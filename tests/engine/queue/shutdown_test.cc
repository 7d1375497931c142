// ShutDown, ShutDownWithDrain, Stop and Close: which calls they refuse, which waiting calls they
// end, and what stays in the store.
//
// WQ_SEED picks the seed, WQ_STRESS_ROUNDS the number of rounds of each call at the same time.

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <iostream>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/queue/queue_fixture.h"
#include "tests/support/environment.h"
#include "wq/limiter.h"
#include "wq/queue.h"
#include "wq/store.h"

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
  auto drain = DrainInBackground();
  ASSERT_TRUE(queue_->Done("a").ok());  // It was dirty: queued again, so not drained yet.
  ASSERT_EQ(Get(), "a");
  EXPECT_EQ(drain.wait_for(seconds(0)), std::future_status::timeout);
  ASSERT_TRUE(queue_->Done("a").ok());
  EXPECT_EQ(drain.get(), StatusCode::kOk);
}

TEST_F(QueueTest, RemovingTheLastKeyEndsADrain) {
  Add("a");
  auto drain = DrainInBackground();
  ASSERT_TRUE(queue_->Remove("a").ok());
  EXPECT_EQ(drain.get(), StatusCode::kOk);
}

TEST_F(QueueTest, ADrainEndsAtItsDeadline) {
  Add("a");
  const Status s = queue_->ShutDownWithDrain(milliseconds(1));
  EXPECT_EQ(s.code(), StatusCode::kTimedOut);
  EXPECT_THAT(s.message(), HasSubstr("1 queued, 0 processing"));
}

TEST_F(QueueTest, ALaterShutDownReleasesADrain) {
  Add("a");
  auto drain = DrainInBackground();
  queue_->ShutDown();
  EXPECT_EQ(drain.get(), StatusCode::kShuttingDown);
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

// --- At the same time as each call that puts a key into the queue ---

using support::FromEnvironment;

struct AddingCall {
  const char* name;
  std::function<Status(Queue*)> add;      // Puts the key "a" into the queue.
  std::function<Status(Queue*)> restore;  // Makes the next `add` possible.
};
void PrintTo(const AddingCall& call, std::ostream* out) { *out << call.name; }

class ShutDownRaceTest : public ::testing::TestWithParam<AddingCall> {};

TEST_P(ShutDownRaceTest, NoKeyIsAddedAfterShutDownHasReturned) {
  const uint64_t seed = support::Seed();
  const uint64_t rounds = FromEnvironment("WQ_STRESS_ROUNDS", 200);
  std::cout << "seed: WQ_SEED=" << seed << "\n";
  std::mt19937_64 random(seed);
  for (uint64_t round = 0; round < rounds; ++round) {
    const QueueInMemory in_memory;
    Queue* const queue = in_memory.queue;
    ASSERT_TRUE(GetParam().restore(queue).ok());
    std::atomic<uint64_t> calls = 0;
    std::thread caller([&] {
      Status s;
      while (s.ok()) {
        s = GetParam().add(queue);
        ++calls;
        calls.notify_one();
        if (s.ok()) {
          s = GetParam().restore(queue);
        }
      }
      EXPECT_EQ(s.code(), StatusCode::kShuttingDown) << s.ToString();
      calls = UINT64_MAX;
      calls.notify_one();
    });
    const uint64_t until = random() % 100;
    for (uint64_t made = 0; made < until; made = calls) {
      calls.wait(made);
    }
    queue->ShutDown();
    const uint64_t adds = queue->Counts().adds;
    caller.join();
    ASSERT_EQ(queue->Counts().adds, adds) << "round " << round;
  }
}

Status Delay(Queue* queue) {
  static_cast<void>(queue->Remove("a"));  // It is queued, except at first.
  return queue->AddAfter("a", std::chrono::hours(1));
}
Status Remove(Queue* queue) {
  static_cast<void>(queue->Remove("a"));
  return {};
}

INSTANTIATE_TEST_SUITE_P(
    Calls, ShutDownRaceTest,
    ::testing::Values(
        AddingCall{"Add", [](Queue* queue) { return queue->Add("a"); }, Remove},
        AddingCall{"AddBatch",
                   [](Queue* queue) { return queue->AddBatch(std::vector<std::string_view>{"a"}); },
                   Remove},
        AddingCall{"EndDelay", [](Queue* queue) { return queue->EndDelay("a"); }, Delay},
        AddingCall{"Release", [](Queue* queue) { return queue->Release("a"); },
                   [](Queue* queue) { return queue->Quarantine("a"); }}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace wq
