// Limits on hand-outs through the whole queue: waiting Gets, drains, restarts, and what is refused.

#include <future>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/queue/queue_fixture.h"
#include "tests/support/wait.h"
#include "wq/internal/queue_calls.h"

namespace wq {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class QueueLimitsTest : public QueueTest {
 protected:
  void Limit(const GroupLimits& of_groups, const GroupLimits& of_queue = {}) {
    queue_options_.group_limits = of_groups;
    queue_options_.limits = of_queue;
    CloseAndOpen();
  }
  void AddKeys(const std::vector<std::string>& keys) {
    for (const std::string& key : keys) {
      ASSERT_TRUE(queue_->Add(key, {.group = key.substr(0, 1)}).ok());
    }
  }
};

// The second Done comes before the Get that the first one wakes has run, mostly.
TEST_F(QueueLimitsTest, EachPlaceThatComesFreeIsForAGetThatWaits) {
  Limit({}, {.max_processing = 2});
  AddKeys({"a1", "a2", "a3", "a4"});
  std::string first = Get();
  std::string second = Get();
  for (int round = 0; round < 100; ++round) {
    std::vector<std::future<std::string>> waits;
    waits.push_back(GetInBackground());
    waits.push_back(GetInBackground());
    // Both have begun to wait, unless the machine is busy.
    ASSERT_EQ(waits[1].wait_for(1ms), std::future_status::timeout) << "over the limit";
    ASSERT_TRUE(queue_->Done(first).ok());
    ASSERT_TRUE(queue_->Done(second).ok());
    const std::string done[] = {first, second};
    for (size_t i = 0; i < 2; ++i) {
      if (waits[i].wait_for(support::kPatience) != std::future_status::ready) {
        queue_->Stop();  // Ends the Get.
        FAIL() << "a Get waits beside " << queue_->Len() << " queued keys, round " << round;
      }
      (i == 0 ? first : second) = waits[i].get();
      ASSERT_TRUE(queue_->Add(done[i]).ok());
    }
  }
}

// The token of the last key comes within a TryGet, which takes out a Get for it and then takes the
// key itself: so that Get has to be told that the queue is empty.
TEST_F(QueueLimitsTest, AGetThatATokenWokeEndsWhenAnotherCallTakesTheLastKey) {
  Limit({}, {.rate = {.per_second = 0.01}});
  AddKeys({"a1", "b1"});
  EXPECT_EQ(Get(), "a1");
  std::vector<std::future<std::string>> waits;
  for (int i = 0; i < 3; ++i) {
    waits.push_back(GetInBackground());
  }
  queue_->ShutDown();
  std::vector<HeldKey> keys;
  EXPECT_EQ(queue_->TryGet(1, &keys).code(), StatusCode::kTimedOut);
  clock_.Advance(100s);
  static_cast<void>(queue_->TryGet(1, &keys));  // A Get may have been faster.
  size_t taken = keys.size();
  for (auto& wait : waits) {
    if (wait.wait_for(support::kPatience) != std::future_status::ready) {
      queue_->Stop();
      FAIL() << "a Get waits in a queue that is shut down and empty";
    }
    const std::string result = wait.get();
    taken += result == "b1" ? 1 : 0;
    EXPECT_TRUE(result == "b1" || result == "ShuttingDown") << result;
  }
  EXPECT_EQ(taken, 1u);
}

TEST_F(QueueLimitsTest, AGetThatWaitsGetsTheKeyOfAGroupWhoseLimitIsRaised) {
  Limit({.max_processing = 1});
  AddKeys({"a1", "a2"});
  EXPECT_EQ(Get(), "a1");
  std::future<std::string> waits = GetInBackground();
  EXPECT_TRUE(SetLimits(queue_, {}, {.max_processing = 2}).ok());
  EXPECT_EQ(waits.get(), "a2");
}

TEST_F(QueueLimitsTest, ADrainWaitsForKeysThatLimitsHoldBack) {
  Limit({.max_processing = 1, .rate = {.per_second = 0.01}});
  AddKeys({"a1", "a2"});
  EXPECT_EQ(Get(), "a1");
  std::future<StatusCode> drain = DrainInBackground();
  std::future<std::string> waits = GetInBackground();
  EXPECT_TRUE(queue_->Done("a1").ok());
  clock_.Advance(100s);
  EXPECT_EQ(waits.get(), "a2");
  EXPECT_TRUE(queue_->Done("a2").ok());
  EXPECT_EQ(drain.get(), StatusCode::kOk);
  EXPECT_EQ(Get(), "ShuttingDown");
}

TEST_F(QueueLimitsTest, AKeyThatWasPutIntoQuarantineBeforeAnyAddHasItsGroup) {
  queue_options_.group_of = [](std::string_view key) { return std::string(key.substr(0, 1)); };
  Limit({.max_processing = 1});
  for (const char* key : {"a1", "a2", "a3"}) {
    ASSERT_TRUE(queue_->Quarantine(key, "by hand").ok());
  }
  ASSERT_TRUE(queue_->Release("a1").ok());
  ASSERT_TRUE(queue_->Release("a2").ok());
  ASSERT_TRUE(queue_->ReleaseAfter("a3", 1s).ok());
  clock_.Advance(1s);
  for (const char* key : {"a1", "a2", "a3"}) {
    EXPECT_EQ(Get(), key);
    EXPECT_EQ(Get(), "TimedOut") << "one key of the group is held";
    ASSERT_TRUE(queue_->Done(key).ok());
  }
}

TEST_F(QueueLimitsTest, LimitsThatAreOutOfRangeAreRefusedByName) {
  const auto refusal = [this](const GroupLimits& of_queue, const GroupLimits& of_groups) {
    const Status s = SetLimits(queue_, of_queue, of_groups);
    EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
    return s.message();
  };
  EXPECT_THAT(refusal({}, {.rate = {.per_second = -1}}),
              HasSubstr("group_limits have a rate of -1 a second"));
  EXPECT_THAT(refusal({}, {.rate = {.per_second = std::numeric_limits<double>::quiet_NaN()}}),
              HasSubstr("nan"));
  EXPECT_THAT(refusal({.rate = {.per_second = 1, .burst = 0}}, {}),
              HasSubstr("limits have a rate of 1 a second and 0 at once"));
  Queue* other = nullptr;
  EXPECT_EQ(store_->OpenQueue("other", {.limits = {.rate = {.burst = 0}}}, &other).code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace wq
