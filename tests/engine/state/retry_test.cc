// What becomes of keys that fail: where they are queued again, and how long they are kept in
// quarantine. And keys that are held for long.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/state/state_fixture.h"

namespace wq {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class RetryTest : public ::testing::Test, public StateFixture {
 protected:
  // Hands out the next key, which fails and waits for a second.
  void FailNext() {
    const std::string key = Get();
    Fail(key, kSecond);
    Done(key);
  }
  void Quarantine(std::string_view key) {
    Do([&](QueueState& s) {
      s.Quarantine(key, "why", now);
      return true;
    });
  }
};

// --- Where a key is tried again ---

TEST_F(RetryTest, ByDefaultAtTheBack) {
  for (const char* key : {"a", "b", "c"}) Add(key);
  FailNext();
  Advance(kSecond);
  EXPECT_EQ(GetMany(3), "bca");
}

TEST_F(RetryTest, ByAgeBeforeWhatWasQueuedBehindIt) {
  Reopen({.order = Order::kTwoLanes, .retry_place = RetryPlace::kByAge});
  for (const char* key : {"a", "b", "c", "d"}) Add(key);
  FailNext();
  FailNext();
  EXPECT_EQ(Get(), "c");
  Advance(kSecond);
  Add("e");
  EXPECT_EQ(GetMany(4), "abde");
}

TEST_F(RetryTest, ByAgeOverACrash) {
  Reopen({.order = Order::kTwoLanes, .retry_place = RetryPlace::kByAge});
  for (const char* key : {"a", "b", "c"}) Add(key);
  FailNext();
  Crash();
  Advance(kSecond);
  Crash();
  EXPECT_EQ(GetMany(3), "abc");
}

TEST_F(RetryTest, ByAgeWithoutADelay) {
  Reopen({.order = Order::kTwoLanes, .retry_place = RetryPlace::kByAge});
  for (const char* key : {"a", "b"}) Add(key);
  EXPECT_EQ(Get(), "a");
  Fail("a", 0);
  Done("a");
  EXPECT_EQ(GetMany(2), "ab");
}

TEST_F(RetryTest, ByAgeOnlyUntilForget) {
  Reopen({.order = Order::kTwoLanes, .retry_place = RetryPlace::kByAge});
  for (const char* key : {"a", "b"}) Add(key);
  FailNext();
  Forget("a");
  Advance(kSecond);
  EXPECT_EQ(GetMany(2), "ba");
}

TEST_F(RetryTest, ByAgeInAFairOrderWithinTheGroup) {
  Reopen({.order = Order::kFair, .retry_place = RetryPlace::kByAge});
  Add("a1", {}, "a");
  Add("a2", {}, "a");
  Add("b1", {}, "b");
  Add("b2", {}, "b");
  FailNext();  // a1
  Advance(kSecond);
  EXPECT_EQ(GetMany(4), "b1a1b2a2") << "the turns of the groups stay";
}

TEST_F(RetryTest, InALane) {
  Reopen({.order = Order::kTwoLanes, .retry_place = RetryPlace::kLane});
  for (const char* key : {"a", "b"}) Add(key);
  FailNext();
  Add("slow", kSlowLane);
  EXPECT_EQ(Disk(), "b slow:slow delayed:slow:a@1s failing:a=1");
  Advance(kSecond);
  EXPECT_EQ(GetMany(3), "bslowa");
}

TEST_F(RetryTest, TheCallsOwnLaneComesFirst) {
  Reopen({.order = Order::kTwoLanes, .retry_place = RetryPlace::kLane});
  Add("a");
  EXPECT_EQ(Get(), "a");
  Do([this](QueueState& s) {
    return s.AddRateLimited("a", {.delay_us = kSecond}, {.lane = kFastLane}, now);
  });
  Done("a");
  EXPECT_EQ(Disk(), "delayed:a@1s failing:a=1");
}

// --- How long a key is kept in quarantine ---

TEST_F(RetryTest, AKeyIsDroppedWhenItWasInQuarantineForLong) {
  Reopen({.quarantine_age = 10s});
  Quarantine("a");
  Advance(4 * kSecond);
  Quarantine("b");
  EXPECT_EQ(Advance(6 * kSecond - 1), 0u);
  EXPECT_EQ(Advance(1), 1u);
  EXPECT_EQ(Disk(), "quarantined:b=0");
  Crash();
  EXPECT_EQ(Advance(4 * kSecond), 1u);
  EXPECT_EQ(Disk(), "");
  EXPECT_EQ(Counts(), "clean");
}

TEST_F(RetryTest, TimeWithoutAProcessCounts) {
  Reopen({.quarantine_age = 10s});
  Quarantine("a");
  now.wall_us += 9 * kSecond;  // The steady clock of another boot.
  now.steady_us = 0;
  Crash();
  EXPECT_EQ(Advance(kSecond), 1u);
}

TEST_F(RetryTest, AClockThatIsSetBackKeepsAKeyForAtMostItsAge) {
  Reopen({.quarantine_age = 10s});
  Quarantine("a");
  now.wall_us -= 3600 * kSecond;
  Crash();
  EXPECT_EQ(Advance(10 * kSecond - 1), 0u);
  EXPECT_EQ(Advance(1), 1u);
}

TEST_F(RetryTest, TheLongestAreDroppedIfThereAreTooMany) {
  Reopen({.quarantine_keys = 2});
  for (const char* key : {"c", "a", "b"}) {
    Quarantine(key);
    Advance(kSecond);
  }
  EXPECT_EQ(Disk(), "quarantined:a=0 quarantined:b=0");
  Reopen({.quarantine_keys = 1});
  EXPECT_EQ(Disk(), "quarantined:b=0");
}

TEST_F(RetryTest, WhatIsReleasedOrDroppedIsNotCounted) {
  Reopen({.quarantine_age = 10s, .quarantine_keys = 1});
  Quarantine("a");
  EXPECT_TRUE(Do([this](QueueState& s) { return s.Release("a", 0, now); }));
  Quarantine("b");
  EXPECT_TRUE(Do([](QueueState& s) { return s.Drop("b"); }));
  Quarantine("c");
  EXPECT_TRUE(Do([](QueueState& s) { return s.Delete("c"); }));
  EXPECT_EQ(Advance(20 * kSecond), 0u);
  EXPECT_EQ(Disk(), "a");
}

// A worker still holds the key.
TEST_F(RetryTest, AHeldKeyThatIsDroppedStaysWithItsWorker) {
  Reopen({.quarantine_age = 10s});
  Add("a");
  EXPECT_EQ(Get(), "a");
  Quarantine("a");
  EXPECT_EQ(Advance(10 * kSecond), 1u);
  EXPECT_EQ(Counts(), "1 processing");
  EXPECT_TRUE(Done("a"));
  EXPECT_EQ(Disk(), "");
}

// --- Keys that are held for long ---

class StuckTest : public ::testing::Test, public StateFixture {
 protected:
  StuckTest() { Reopen({.stuck_after = 10s}); }
  std::string Hold() {
    const Item* item = state().Get(0, now);
    return item == nullptr ? "" : std::string(item->key());
  }
};

TEST_F(StuckTest, AKeyIsToldOnceForEachHandOut) {
  Add("a");
  Add("b");
  EXPECT_EQ(Hold(), "a");
  Advance(4 * kSecond);
  EXPECT_EQ(Hold(), "b");
  EXPECT_EQ(state().NextDue(), now.steady_us + 6 * kSecond);
  Advance(7 * kSecond);
  EXPECT_THAT(state().TakeStuck(), ElementsAre(Pair("a", 11 * kSecond)));
  EXPECT_EQ(state().Counts().stuck, 1u);
  Advance(20 * kSecond);
  EXPECT_THAT(state().TakeStuck(), ElementsAre(Pair("b", 27 * kSecond)));
  EXPECT_EQ(state().NextDue(), std::nullopt);
  EXPECT_EQ(state().Counts().stuck, 2u);
  Done("a");
  EXPECT_EQ(state().Counts().stuck, 1u);
  Add("a");
  EXPECT_EQ(Hold(), "a");
  Advance(9 * kSecond);
  EXPECT_THAT(state().TakeStuck(), IsEmpty());
  Advance(kSecond);
  EXPECT_THAT(state().TakeStuck(), ElementsAre(Pair("a", 10 * kSecond)));
}

TEST_F(StuckTest, AKeyThatIsGivenBackIsNotStuck) {
  Add("a");
  EXPECT_EQ(Hold(), "a");
  EXPECT_TRUE(Do([](QueueState& s) { return s.PutBack("a"); }));
  EXPECT_EQ(Advance(20 * kSecond), 0u);
}

TEST_F(StuckTest, AKeyBecomesStuckDuringAShutdown) {
  Add("a");
  AddAfter("b", kSecond);
  EXPECT_EQ(Hold(), "a");
  state().StopDelays();
  EXPECT_EQ(Advance(10 * kSecond), 1u);
  EXPECT_THAT(state().TakeStuck(), ElementsAre(Pair("a", 10 * kSecond)));
  EXPECT_EQ(Counts(), "1 processing, 1 delayed");
}

}  // namespace
}  // namespace wq
