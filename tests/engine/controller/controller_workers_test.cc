// Controller with several workers: never two holders of a key, no key lost, shards.

#include <array>
#include <atomic>
#include <latch>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/controller/controller_fixture.h"

namespace wq {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::seconds;

using ControllerWorkersTest = ControllerTest;

TEST_F(ControllerWorkersTest, ALongReconcileDelaysNoOtherKey) {
  Add("long");
  std::latch others(20);
  Start(
      [&](const ReconcileContext& context) -> Result {
        if (context.key() == "long") {
          others.wait();
        } else {
          others.count_down();
        }
        return {};
      },
      {.max_concurrent_reconciles = 2});
  for (int i = 0; i < 20; ++i) {
    Add(std::to_string(i));
  }
  DrainAndOpen();
  EXPECT_EQ(Counted(), "21 success");
}

TEST_F(ControllerWorkersTest, AKeyHasNeverTwoHolders) {
  constexpr size_t kKeys = 5;
  std::array<std::atomic<int>, kKeys> holders{};
  std::array<int, kKeys> reconciles{};  // Not atomic: TSan reports two holders.
  std::atomic<bool> two_holders = false;
  Start(
      [&](const ReconcileContext& context) -> Result {
        const size_t i = static_cast<size_t>(std::stoul(context.key()));
        two_holders = two_holders || holders[i].fetch_add(1) != 0;
        const int n = ++reconciles[i];
        static_cast<void>(queue_->Len());  // Waits for the queue's lock, as others do.
        holders[i].fetch_sub(1);
        return n % 3 == 0   ? Result::RequeueAfter(microseconds(1))
               : n % 3 == 1 ? Result(Status::IOError("fails"))
                            : Result();
      },
      {.max_concurrent_reconciles = 4, .reconcile_timeout = microseconds(10)});
  {
    std::vector<std::jthread> producers;
    for (size_t p = 0; p < 3; ++p) {
      producers.emplace_back([this, p] {
        for (size_t i = 0; i < 500; ++i) {
          EXPECT_TRUE(queue_->Add(std::to_string((i + p) % kKeys)).ok());
          if (i % 50 == 0) {
            clock_.Advance(seconds(1));
          }
        }
      });
    }
  }
  Drain();
  EXPECT_FALSE(two_holders);
  const ControllerCounters c = controller_->Counters();
  EXPECT_EQ(c.success + c.error + c.requeue_after,
            static_cast<uint64_t>(std::accumulate(reconciles.begin(), reconciles.end(), 0)));
}

TEST_F(ControllerWorkersTest, AStopAtAnyTimeLosesNoKey) {
  for (int round = 0; round < 20; ++round) {
    std::set<std::string> pending;
    std::mutex mu;
    Start(
        [&](const ReconcileContext& context) -> Result {
          const std::lock_guard lock(mu);
          pending.erase(context.key());
          return {};
        },
        {.max_concurrent_reconciles = 3});
    for (int i = 0; i < 10 + round; ++i) {
      const std::string key = std::to_string(i);
      {
        const std::lock_guard lock(mu);
        pending.insert(key);
      }
      Add(key);
    }
    ASSERT_TRUE(controller_->Stop(hours(1)).ok());
    Reopen();
    std::set<std::string> left;
    for (std::string key; queue_->GetFor(microseconds(0), &key).ok();) {
      left.insert(key);
      ASSERT_TRUE(queue_->Forget(key).ok() && queue_->Done(key).ok());
    }
    ASSERT_EQ(left, pending);
  }
}

// --- Shards ---

TEST_F(ControllerWorkersTest, WorkersJoinAQueueWithShards) {
  for (const uint32_t workers : {1U, 3U, 8U}) {
    QueueOptions options = queue_options_;
    options.shards = 4;
    options.group_of = [](std::string_view key) { return std::string(key.substr(0, 1)); };
    CloseAndOpen(options);
    std::array<std::atomic<int>, 10> holders{};  // By group.
    std::array<std::string, 10> seen;
    std::string expected;
    for (char n = 'a'; n <= 'z'; ++n) {
      expected += n;
      for (char group = '0'; group <= '9'; ++group) {
        Add(std::string({group, n}));
      }
    }
    Start(
        [&](const ReconcileContext& context) -> Result {
          const size_t group = static_cast<size_t>(context.key()[0] - '0');
          EXPECT_EQ(holders[group].fetch_add(1), 0);
          seen[group] += context.key()[1];
          holders[group].fetch_sub(1);
          return {};
        },
        {.max_concurrent_reconciles = workers});
    DrainAndOpen();
    EXPECT_EQ(Counted(), "260 success");
    EXPECT_THAT(seen, ::testing::Each(expected));
  }
}

}  // namespace
}  // namespace wq
