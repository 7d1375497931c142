// What a queue adds to the state machine: arguments, batches, durability, waiting, delays,
// failures. The disk is made of maps; the clock is moved by hand.

#include "wq/queue.h"

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/queue/queue_fixture.h"
#include "wq/limiter.h"

namespace wq {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

// --- Arguments ---

TEST_F(QueueTest, RefusesAKeyAboveTheLimitAndNamesIt) {
  EXPECT_TRUE(queue_->Add(std::string(4096, 'k')).ok());
  const Status s = queue_->Add("\x1b[2J" + std::string(4096, 'k'));
  EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(s.message(), HasSubstr("4100 bytes long, the limit is 4096"));
  EXPECT_THAT(s.message(), HasSubstr("\\x1b[2Jkkk"));
  EXPECT_EQ(queue_->Len(), 1U);
}

TEST_F(QueueTest, RefusesALaneThatTheOrderDoesNotHaveAndALongGroup) {
  EXPECT_EQ(queue_->Add("a", {.lane = 17}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(queue_->AddAfter("a", seconds(1), {.lane = 17}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(queue_->AddRateLimited("a", "", {.lane = 17}).code(), StatusCode::kInvalidArgument);
  const std::string group(kMaxGroupBytes + 1, 'g');
  EXPECT_EQ(queue_->Add("a", {.group = group}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(queue_->Len() + queue_->Counts().delayed, 0U);
  EXPECT_EQ(queue_->NumRequeues("a"), 0U);
}

TEST_F(QueueTest, ANegativeDelayIsAnAddAndAHugeOneIsCut) {
  EXPECT_TRUE(queue_->AddAfter("now", microseconds::min()).ok());
  EXPECT_EQ(Get(), "now");
  EXPECT_TRUE(queue_->AddAfter("never", microseconds::max()).ok());
  clock_.Advance(hours(24 * 365 * 50));
  EXPECT_EQ(queue_->Counts().delayed, 1U);
}

// --- AddBatch ---

TEST_F(QueueTest, AnAddIfAbsentLeavesAKeyWithAnyStateAlone) {
  Add("p");
  Get();
  Add("q");
  ASSERT_TRUE(queue_->AddAfter("d", hours(1)).ok());
  ASSERT_TRUE(queue_->AddRateLimited("f", "e").ok());
  ASSERT_TRUE(queue_->CancelDelay("f").ok());
  ASSERT_TRUE(queue_->Quarantine("x").ok());
  const std::string before = State();
  const AddOptions gathered{.debounce = Debounce{hours(1), hours(1)}, .if_absent = true};
  for (const char* key : {"p", "q", "d", "f", "x"}) {
    for (const auto& add : std::initializer_list<std::function<Status(AddOutcome*)>>{
             [&](AddOutcome* to) { return queue_->Add(key, {.if_absent = true}, to); },
             [&](AddOutcome* to) { return queue_->Add(key, gathered, to); },
             [&](AddOutcome* to) {
               return queue_->AddAfter(key, hours(2), {.if_absent = true}, to);
             }}) {
      AddOutcome outcome = AddOutcome::kAdded;
      EXPECT_TRUE(add(&outcome).ok());
      EXPECT_EQ(outcome, AddOutcome::kDeduplicated) << key;
    }
  }
  EXPECT_EQ(State(), before);
  ASSERT_TRUE(queue_->Add("new", {.if_absent = true}).ok());
  EXPECT_EQ(State(), "d:d f:f new:q p:p q:q x:x");
}

TEST_F(QueueTest, AddBatchOfManyKeysSyncsOnce) {
  std::vector<std::string> keys;
  for (int i = 0; i < 10000; ++i) {
    keys.push_back("key-" + std::to_string(i));
  }
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const uint64_t before = Syncs();
  BatchResult result;
  ASSERT_TRUE(queue_->AddBatch(views, {.durability = Durability::kPower}, &result).ok());
  EXPECT_EQ(result.added, keys.size());
  EXPECT_EQ(Syncs(), before + 1);
  EXPECT_EQ(RecordsOnDisk(storage::Family::kDirty), keys.size());
}

TEST_F(QueueTest, KeysThatABatchAddedBeforeAShutDownAreOnDisk) {
  QueueOptions options;
  options.group_of = [this](std::string_view key) {
    if (key == "key-300") {
      queue_->ShutDown();
    }
    return std::string();
  };
  CloseAndOpen(options);
  std::vector<std::string> keys;
  for (int i = 0; i < 600; ++i) {
    keys.push_back("key-" + std::to_string(i));
  }
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  EXPECT_EQ(queue_->AddBatch(views).code(), StatusCode::kShuttingDown);
  EXPECT_GT(queue_->Len(), 0U);
  EXPECT_EQ(RecordsOnDisk(storage::Family::kDirty), queue_->Len());
}

TEST_F(QueueTest, AFunctionOfGroupsMayCountFailures) {
  QueueOptions options;
  options.group_of = [this](std::string_view key) {
    if (key == "a") {
      EXPECT_TRUE(queue_->AddRateLimited("b", "e").ok());
    }
    return std::string("g");
  };
  CloseAndOpen(options);
  EXPECT_TRUE(queue_->AddRateLimited("a", "e").ok());
  EXPECT_EQ(queue_->NumRequeues("b"), 1U);
}

// --- Durability ---

TEST_F(QueueTest, ProcessWritesBeforeItReturnsAndPowerSyncs) {
  const uint64_t syncs = Syncs();
  ASSERT_TRUE(queue_->Add("a", {.durability = Durability::kProcess}).ok());
  EXPECT_EQ(RecordsOnDisk(storage::Family::kDirty), 1U);
  EXPECT_EQ(Syncs(), syncs);
  ASSERT_TRUE(queue_->Add("b", {.durability = Durability::kPower}).ok());
  EXPECT_EQ(Syncs(), syncs + 1);
}

TEST_F(QueueTest, ADeduplicatedAddIsAsDurableAsItAsksFor) {
  ASSERT_TRUE(queue_->Add("a", {.durability = Durability::kProcess}).ok());
  const uint64_t syncs = Syncs();
  ASSERT_TRUE(queue_->Add("a", {.durability = Durability::kPower}).ok());
  EXPECT_EQ(Syncs(), syncs + 1);
  ASSERT_TRUE(queue_->Add("a", {.durability = Durability::kPower}).ok());
  EXPECT_EQ(Syncs(), syncs + 1);  // Its record is synced already.
}

// A quarantine has no position of its own.
TEST_F(QueueTest, WhatAQuarantineHoldsIsAsDurableAsItAsksFor) {
  const std::function<Status()> calls[] = {
      [this] { return queue_->Add("a", {.durability = Durability::kPower}); },
      [this] { return queue_->Add("a", {.durability = Durability::kPower, .if_absent = true}); },
      [this] { return queue_->AddRateLimited("a", "e", {.durability = Durability::kPower}); }};
  for (const auto& call : calls) {
    ASSERT_TRUE(queue_->Quarantine("a", "e").ok());
    const uint64_t syncs = Syncs();
    ASSERT_TRUE(call().ok());
    EXPECT_EQ(Syncs(), syncs + 1);
    ASSERT_TRUE(call().ok());
    EXPECT_EQ(Syncs(), syncs + 1);
    ASSERT_TRUE(queue_->Drop("a").ok());
  }
}

TEST_F(QueueTest, DoneWritesNothingByItself) {
  Add("a");
  ASSERT_EQ(Get(), "a");
  ASSERT_TRUE(queue_->Done("a").ok());
  EXPECT_EQ(RecordsOnDisk(storage::Family::kDirty), 1U);
  ASSERT_TRUE(queue_->Flush(Durability::kProcess).ok());
  EXPECT_EQ(RecordsOnDisk(storage::Family::kDirty), 0U);
}

// --- Waiting ---

TEST_F(QueueTest, GetForTimesOut) {
  std::string key = "untouched";
  EXPECT_EQ(queue_->GetFor(milliseconds(1), &key).code(), StatusCode::kTimedOut);
  EXPECT_EQ(key, "untouched");
  EXPECT_EQ(queue_->GetFor(microseconds::min(), &key).code(), StatusCode::kTimedOut);
}

TEST_F(QueueTest, EveryWaiterGetsAKey) {
  std::vector<std::future<std::string>> waiters;
  for (int i = 0; i < 8; ++i) {
    waiters.push_back(GetInBackground());
  }
  const std::vector<std::string_view> keys = {"a", "b", "c", "d", "e", "f", "g", "h"};
  ASSERT_TRUE(queue_->AddBatch(keys).ok());
  std::vector<std::string> got;
  for (auto& waiter : waiters) {
    got.push_back(waiter.get());
  }
  EXPECT_THAT(got, ::testing::UnorderedElementsAreArray(keys));
}

// --- Delays ---

TEST_F(QueueTest, TheTimerWakesABlockedGet) {
  auto key = GetInBackground();
  ASSERT_TRUE(queue_->AddAfter("late", hours(2)).ok());
  ASSERT_TRUE(queue_->AddAfter("early", hours(1)).ok());  // The timer sleeps until `late` is due.
  clock_.Advance(hours(1));
  EXPECT_EQ(key.get(), "early");
}

TEST_F(QueueTest, TheTimerFiresDelaysFromBeforeTheStart) {
  ASSERT_TRUE(queue_->AddAfter("a", hours(1)).ok());
  CloseAndOpen();
  auto key = GetInBackground();
  clock_.Advance(hours(1));
  EXPECT_EQ(key.get(), "a");
}

TEST_F(QueueTest, DelaysRunOnTheSystemClockToo) {
  const QueueInMemory queue;
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(queue->AddAfter("a", milliseconds(20)).ok());
  std::string key;
  ASSERT_TRUE(queue->Get(&key).ok());
  EXPECT_EQ(key, "a");
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(20));
}

// --- Failures ---

TEST_F(QueueTest, AddRateLimitedBacksOffByTheDurableCount) {
  CloseAndOpen({.limiter = std::make_shared<ItemExponentialFailure>(seconds(1), hours(1))});
  Add("a");
  for (const int expected : {1, 2, 4, 8, 16}) {
    ASSERT_EQ(Get(), "a");
    ASSERT_TRUE(queue_->AddRateLimited("a", "boom").ok());
    ASSERT_TRUE(queue_->Done("a").ok());
    CloseAndOpen();  // Neither the failure count nor the end of the delay is lost.
    clock_.Advance(seconds(expected) - microseconds(1));
    ASSERT_EQ(Get(), "TimedOut");
    clock_.Advance(microseconds(1));
  }
  EXPECT_EQ(queue_->NumRequeues("a"), 5U);
  ASSERT_TRUE(queue_->Forget("a").ok());
  EXPECT_EQ(queue_->NumRequeues("a"), 0U);
}

TEST_F(QueueTest, NoLaneStarvesHoweverOftenTheQueueIsOpened) {
  const QueueOptions options{.order = Order::kTwoLanes, .starvation_bound = 4};
  for (const int hand_outs : {1, 2, 3, 4, 5}) {
    SCOPED_TRACE(hand_outs);
    std::map<Lane, int> served;
    for (int start = 0; start < 40; ++start) {
      clock_.Advance(std::chrono::milliseconds(1234));
      CloseAndOpen(options);
      for (const char* key : {"f1", "f2", "f3", "f4", "f5", "f6"}) {
        ASSERT_TRUE(queue_->Add(key).ok());
      }
      for (const char* key : {"s1", "s2", "s3"}) {
        ASSERT_TRUE(queue_->Add(key, {.lane = kSlowLane}).ok());
      }
      for (int i = 0; i < hand_outs; ++i) {
        const std::string key = Get();
        ++served[key.front() == 's' ? kSlowLane : kFastLane];
        ASSERT_TRUE(queue_->Done(key).ok());
      }
    }
    EXPECT_GT(served[kSlowLane], 5 * hand_outs);  // A fourth is 10 of each 40.
    EXPECT_GT(served[kFastLane], 25 * hand_outs);
  }
}

TEST_F(QueueTest, TheBucketGivesNoFreshBurstAtEachStart) {
  for (int start = 0; start < 4; ++start) {
    CloseAndOpen({.limiter = std::make_shared<Bucket>(0.001, 2)});
    for (int i = 0; i < 2; ++i) {
      AddOutcome outcome{};
      ASSERT_TRUE(
          queue_->AddRateLimited("k" + std::to_string(start) + std::to_string(i), "", {}, &outcome)
              .ok());
    }
  }
  EXPECT_EQ(queue_->Len(), 2U);  // The burst of two, once; the others are delayed.
  EXPECT_EQ(queue_->Counts().delayed, 6U);
}

class CountingLimiter final : public Limiter {
 public:
  microseconds When(std::string_view, uint64_t, Time) override {
    ++calls;
    return seconds(1);
  }
  int calls = 0;
};

// It would take a token of a bucket, and the bucket's state would not reach the disk.
TEST_F(QueueTest, ARefusedFailureDoesNotReachTheLimiter) {
  const auto limiter = std::make_shared<CountingLimiter>();
  CloseAndOpen({.limiter = limiter});
  Add("held");
  ASSERT_EQ(Get(), "held");
  EXPECT_EQ(queue_->AddRateLimited("").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(queue_->AddRateLimited("a", "", {.lane = 17}).code(), StatusCode::kInvalidArgument);
  const std::string group(kMaxGroupBytes + 1, 'g');
  EXPECT_EQ(queue_->AddRateLimited("a", "", {.group = group}).code(), StatusCode::kInvalidArgument);
  queue_->ShutDown();
  EXPECT_EQ(queue_->AddRateLimited("a").code(), StatusCode::kShuttingDown);
  EXPECT_EQ(limiter->calls, 0);
  EXPECT_TRUE(queue_->AddRateLimited("held").ok());
  EXPECT_EQ(limiter->calls, 1);
}

TEST_F(QueueTest, CountsReportWhenTheNextDelayedKeyIsDue) {
  EXPECT_FALSE(queue_->Counts().next_due_us.has_value());
  ASSERT_TRUE(queue_->AddAfter("late", std::chrono::seconds(9)).ok());
  ASSERT_TRUE(queue_->AddAfter("soon", std::chrono::seconds(5)).ok());
  ASSERT_TRUE(queue_->Pause(std::chrono::seconds(1)).ok());
  clock_.Advance(std::chrono::seconds(2));
  EXPECT_EQ(queue_->Counts().next_due_us, 3'000'000);
  clock_.Advance(std::chrono::seconds(4));
  EXPECT_EQ(queue_->Counts().next_due_us, 3'000'000);  // Of "late".
}

}  // namespace
}  // namespace wq
