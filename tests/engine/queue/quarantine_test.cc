// Quarantine, removing, cancelling and pausing in the state machine, each also over a crash.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/state/state_fixture.h"

namespace wq {
namespace {

// --- Quarantine ---

class QuarantineTest : public ::testing::Test, public StateFixture {
 protected:
  QuarantineTest() { Reopen({.order = Order::kTwoLanes, .max_requeues = 2}); }

  // Hands "a" out and lets it fail, until it is quarantined.
  void Exhaust() {
    Add("a", kSlowLane, "g");
    for (const AddOutcome expected : {AddOutcome::kAdded, AddOutcome::kAdded, AddOutcome::kHeld}) {
      ASSERT_EQ(Get(), "a");
      ASSERT_EQ(Fail("a", kSecond, "no route"), expected);
      ASSERT_TRUE(Done("a"));
      Advance(kSecond);
    }
  }
};

TEST_F(QuarantineTest, AReleaseMayBeDelayed) {
  Exhaust();
  EXPECT_TRUE(Do([this](QueueState& s) { return s.Release("a", 2 * kSecond, now); }));
  EXPECT_EQ(Counts(), "1 delayed");
  EXPECT_EQ(state().NumRequeues("a"), 0U);
  Advance(kSecond);
  Crash();
  EXPECT_EQ(Counts(), "1 delayed");
  Advance(kSecond);
  EXPECT_EQ(Counts(), "1 queued");
  EXPECT_EQ(Disk(), "slow:a");
}

TEST_F(QuarantineTest, ADelayedReleaseKeepsTheGroupAndTheShard) {
  constexpr uint32_t kShards = 64;
  Reopen({.shards = kShards});
  const uint16_t shard = ShardOf("g", kShards);
  ASSERT_NE(ShardOf("a", kShards), shard);
  const auto expect_kept = [&](const char* when) {
    ASSERT_NE(state().Find("a"), nullptr) << when;
    EXPECT_EQ(state().Find("a")->group_name(), "g") << when;
    EXPECT_EQ(state().Find("a")->shard, shard) << when;
  };
  Add("a", {}, "g");
  Do([this](QueueState& s) {
    s.Quarantine("a", "", now);
    return true;
  });
  expect_kept("in quarantine");
  EXPECT_TRUE(Do([this](QueueState& s) { return s.Release("a", kSecond, now); }));
  expect_kept("delayed");
  Crash();
  expect_kept("delayed, after a crash");
  Advance(kSecond);
  expect_kept("queued");
  EXPECT_EQ(Get(shard), "a");
}

TEST_F(QuarantineTest, AKeyThatFailsTooOftenIsKeptOutOfTheQueue) {
  Exhaust();
  EXPECT_EQ(Counts(), "1 quarantined");
  EXPECT_EQ(Disk(), "quarantined:a=3");
  EXPECT_EQ(state().NumRequeues("a"), 3U);
  Crash();
  EXPECT_EQ(Counts(), "1 quarantined");
  size_t keys = 0;
  state().ForEachQuarantined("", [&keys](const Item& item) {
    EXPECT_EQ(item.key(), "a");
    EXPECT_EQ(item.failures->count, 3U);
    EXPECT_EQ(item.failures->last_error, "no route");
    return ++keys > 0;
  });
  EXPECT_EQ(keys, 1U);
}

TEST_F(QuarantineTest, AnAddIsHeld) {
  Exhaust();
  EXPECT_EQ(Add("a"), AddOutcome::kHeld);
  EXPECT_EQ(AddAfter("a", kSecond), AddOutcome::kHeld);
  EXPECT_EQ(Fail("a", kSecond), AddOutcome::kHeld);
  Forget("a");
  EXPECT_EQ(Counts(), "1 quarantined");
  EXPECT_EQ(state().NumRequeues("a"), 3U);
}

TEST_F(QuarantineTest, AnAddReleasesWhereTheOptionSaysSo) {
  Exhaust();
  Reopen({.max_requeues = 2, .quarantined_add = QuarantinedAdd::kRelease});
  EXPECT_EQ(Add("a"), AddOutcome::kAdded);
  EXPECT_EQ(Disk(), "a");
  EXPECT_EQ(state().NumRequeues("a"), 0U);
}

TEST_F(QuarantineTest, ReleaseAddsTheKeyToItsLaneAndGroupWithoutFailures) {
  Exhaust();
  Crash();
  EXPECT_TRUE(Do([this](QueueState& s) { return s.Release("a", 0, now); }));
  EXPECT_EQ(Disk(), "slow:a");
  std::string group;
  state().ForEachQueued([&group](const Item& item) {
    group = item.group_name();
    return true;
  });
  EXPECT_EQ(group, "g");
  EXPECT_FALSE(Do([this](QueueState& s) { return s.Release("a", 0, now); }));
}

TEST_F(QuarantineTest, DropForgetsTheKey) {
  Exhaust();
  EXPECT_TRUE(Do([](QueueState& s) { return s.Drop("a"); }));
  EXPECT_FALSE(Do([](QueueState& s) { return s.Drop("a"); }));
  EXPECT_EQ(Counts(), "clean");
  EXPECT_EQ(Disk(), "");
}

TEST_F(QuarantineTest, AQueuedDelayedOrHeldKeyCanBePutThere) {
  const auto quarantine = [this](const char* key) {
    Do([&](QueueState& s) {
      s.Quarantine(key, "by hand", now);
      return 0;
    });
  };
  Add("queued");
  AddAfter("delayed", kSecond);
  Add("held");
  Get();
  Get();
  Add("held");  // Processing and dirty.
  Done("queued");
  Add("queued");
  quarantine("queued");
  quarantine("delayed");
  quarantine("held");
  quarantine("unknown");
  quarantine("unknown");
  EXPECT_EQ(Counts(), "1 processing, 4 quarantined");
  EXPECT_EQ(Advance(kSecond), 0U);
  Crash();  // The worker had not called Done: the key must not be pending again.
  EXPECT_EQ(Counts(), "4 quarantined");
  EXPECT_THAT(Disk(), ::testing::StartsWith("quarantined:"));
}

TEST_F(QuarantineTest, DoneAfterQuarantineCleansUp) {
  Add("a");
  Get();
  Do([this](QueueState& s) {
    s.Quarantine("a", "", now);
    return 0;
  });
  EXPECT_EQ(Add("a"), AddOutcome::kHeld);
  EXPECT_TRUE(Done("a"));
  EXPECT_EQ(Disk(), "quarantined:a=0");
}

// --- Removing and cancelling ---

TEST_F(QuarantineTest, RemoveOfAQueuedKey) {
  Add("a");
  Add("b");
  Fail("b", kSecond);
  EXPECT_TRUE(Do([](QueueState& s) { return s.Remove("a"); }));
  EXPECT_FALSE(Do([](QueueState& s) { return s.Remove("a"); }));
  EXPECT_TRUE(Do([](QueueState& s) { return s.Remove("b"); }));
  EXPECT_EQ(Disk(), "delayed:b@1s failing:b=1");  // Delay and failures stay.
}

TEST_F(QuarantineTest, RemoveOfAProcessingKeyCancelsTheAddSinceGet) {
  Add("a");
  Get();
  EXPECT_FALSE(Do([](QueueState& s) { return s.Remove("a"); }));
  Add("a");
  EXPECT_TRUE(Do([](QueueState& s) { return s.Remove("a"); }));
  EXPECT_EQ(Disk(), "a");  // Still held: after a crash it is queued.
  Done("a");
  EXPECT_EQ(Counts(), "clean");
}

TEST_F(QuarantineTest, CancelDelayRemovesTheDelay) {
  AddAfter("a", kSecond);
  EXPECT_TRUE(Do([](QueueState& s) { return s.CancelDelay("a"); }));
  EXPECT_FALSE(Do([](QueueState& s) { return s.CancelDelay("a"); }));
  EXPECT_EQ(Disk(), "");
  EXPECT_EQ(Advance(kSecond), 0U);
}

TEST_F(QuarantineTest, EndDelayMakesAKeyPendingNowInOneStep) {
  Fail("a", 3600 * kSecond);
  EXPECT_TRUE(Do([this](QueueState& s) { return s.EndDelay("a", now); }));
  EXPECT_FALSE(Do([this](QueueState& s) { return s.EndDelay("a", now); }));
  EXPECT_EQ(Disk(), "a failing:a=1");  // The failure stays.
  EXPECT_EQ(Get(), "a");
  EXPECT_EQ(state().Counts().adds, 1U);
  EXPECT_EQ(state().Counts().failures, 1U);
}

TEST_F(QuarantineTest, DeleteLeavesNothingOfAKeyInAnyState) {
  const auto erase = [this](std::string_view key) {
    return Do([key](QueueState& s) { return s.Delete(key); });
  };
  Add("queued");
  AddAfter("delayed", kSecond);
  Fail("failing", kSecond);
  Do([](QueueState& s) { return s.CancelDelay("failing"); });
  Add("all");
  Fail("all", kSecond);
  Do([this](QueueState& s) {
    s.Quarantine("quarantined", "why", now);
    return 0;
  });
  for (const char* const key : {"queued", "delayed", "failing", "all", "quarantined"}) {
    EXPECT_TRUE(erase(key)) << key;
    EXPECT_FALSE(erase(key)) << key;
  }
  EXPECT_EQ(Disk(), "");
  EXPECT_EQ(Counts(), "clean");
  EXPECT_EQ(Advance(kSecond), 0U);
}

TEST_F(QuarantineTest, DeleteOfAProcessingKeyLeavesItToItsWorker) {
  Add("a");
  Get();
  Add("a");
  Fail("a", kSecond);
  EXPECT_TRUE(Do([](QueueState& s) { return s.Delete("a"); }));
  EXPECT_EQ(Disk(), "a");  // Still held: after a crash it is queued.
  EXPECT_EQ(Counts(), "1 processing");
  EXPECT_TRUE(Done("a"));
  EXPECT_EQ(Disk(), "");
  EXPECT_EQ(Counts(), "clean");
}

// --- Pausing ---

TEST_F(QuarantineTest, APausedQueueHandsNothingOut) {
  Add("a");
  Do([this](QueueState& s) {
    s.Pause(std::nullopt, now);
    return 0;
  });
  EXPECT_EQ(Get(), "");
  EXPECT_EQ(Counts(), "1 queued");
  Crash();
  EXPECT_EQ(Get(), "");
  Advance(1'000'000 * kSecond);
  EXPECT_EQ(Get(), "");
  Do([](QueueState& s) {
    s.Resume();
    return 0;
  });
  Crash();
  EXPECT_EQ(Get(), "a");
}

TEST_F(QuarantineTest, APauseMayEndByItselfOverACrashToo) {
  Add("a");
  Do([this](QueueState& s) {
    s.Pause(10 * kSecond, now);
    return 0;
  });
  Advance(4 * kSecond);
  Crash();
  Advance(6 * kSecond - 1);
  EXPECT_EQ(Get(), "");
  Advance(1);
  EXPECT_EQ(Get(), "a");
  Crash();
  EXPECT_FALSE(state().paused());
}

}  // namespace
}  // namespace wq
