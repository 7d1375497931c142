// The order policies in the state machine: lanes, priorities, the starvation bound, fairness; and
// each order after a crash.

#include "engine/order/order.h"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/state/state_fixture.h"

namespace wq {
namespace {

class OrderTest : public ::testing::Test, public StateFixture {
 protected:
  // The queued keys in hand-out order, without handing them out.
  std::string Listing() {
    std::string keys;
    state().ForEachQueued([&keys](const Item& item) {
      keys += (keys.empty() ? "" : " ") + std::string(item.key());
      return true;
    });
    return keys;
  }
  // Hands out everything that is queued.
  std::string Drain() {
    std::string keys;
    for (std::string key = Get(); !key.empty(); key = Get()) {
      keys += (keys.empty() ? "" : " ") + key;
    }
    return keys;
  }
};

// --- N lanes and priorities ---

TEST_F(OrderTest, ListedLanesAreServedHighestFirst) {
  Reopen({.order = Order::kLanes, .lanes = {5, -3, 20}});
  Add("low", -3);
  Add("normal");
  Add("high", 20);
  Add("raised", 5);
  EXPECT_EQ(Listing(), "high raised normal low");
  Crash();
  EXPECT_EQ(Drain(), "high raised normal low");
}

TEST_F(OrderTest, ListedLanesHaveNoOther) {
  Reopen({.order = Order::kLanes, .lanes = {5, 5}});
  EXPECT_TRUE(state().HasLane(5));
  EXPECT_TRUE(state().HasLane(kFastLane));
  EXPECT_FALSE(state().HasLane(6));
}

TEST_F(OrderTest, EveryIntegerIsAPriority) {
  Reopen({.order = Order::kPriorities});
  Add("min", INT32_MIN);
  Add("b");
  Add("max", INT32_MAX);
  Add("c");
  Add("minus", -1);
  Add("plus", 1);
  Crash();
  EXPECT_EQ(Drain(), "max plus b c minus min");
  EXPECT_EQ(Counts(), "6 processing");
}

TEST_F(OrderTest, AReAddMaySetThePriority) {
  Reopen({.order = Order::kPriorities, .re_add = ReAdd::kSetsLane});
  Add("a", 10);
  Add("b", 5);
  Add("a", 1);
  Crash();
  EXPECT_EQ(Drain(), "b a");
}

TEST_F(OrderTest, AReAddMayOnlyRaiseThePriority) {
  Reopen({.order = Order::kPriorities, .re_add = ReAdd::kRaisesLane});
  Add("a", 10);
  Add("b", 5);
  Add("c", 1);
  Add("a", 1);
  Add("c", 7);
  Crash();
  EXPECT_EQ(Drain(), "a c b");
  Add("a", 3);  // Processing: the first Add sets its priority.
  Add("b", 30);
  Done("a");
  Done("b");
  EXPECT_EQ(Drain(), "b a");
}

TEST_F(OrderTest, ADelayOnlyRaisesThePriorityOfADelay) {
  Reopen({.order = Order::kPriorities, .re_add = ReAdd::kRaisesLane});
  AddAfter("sooner", 60 * kSecond, 10);
  AddAfter("sooner", kSecond, 2);
  AddAfter("later", kSecond, 10);
  AddAfter("later", 60 * kSecond, 2);
  AddAfter("raised", kSecond, 2);
  AddAfter("raised", 60 * kSecond, 11);
  EXPECT_EQ(Disk(), "delayed:10:later@1s delayed:11:raised@1s delayed:10:sooner@1s");
  Add("middle", 5);
  Advance(kSecond);
  EXPECT_EQ(Drain(), "raised sooner later middle");
}

TEST_F(OrderTest, AnAddOfADelayedKeyKeepsTheHigherPriority) {
  for (const bool merge : {false, true}) {
    Reopen({.order = Order::kPriorities, .re_add = ReAdd::kRaisesLane, .merge_delays = merge});
    AddAfter("a", kSecond, 10);
    Add("a", 2);
    AddAfter("b", kSecond, 1);
    Add("b", 3);
    EXPECT_EQ(Disk(), merge ? "10:a 3:b" : "10:a 3:b delayed:10:a@1s delayed:1:b@1s");
    EXPECT_EQ(Drain(), "a b");
    Done("a");
    Done("b");
    Do([](QueueState& s) { return s.CancelDelay("a"); });
    Do([](QueueState& s) { return s.CancelDelay("b"); });
  }
}

TEST_F(OrderTest, TheFirstAddOfAHeldKeySetsItsPriority) {
  Reopen({.order = Order::kPriorities, .re_add = ReAdd::kRaisesLane});
  Add("a", 10);
  Get();
  Add("a", 2);
  EXPECT_EQ(Disk(), "2:a");
  Add("a", 1);
  EXPECT_EQ(Disk(), "2:a");
  Add("a", 3);
  EXPECT_EQ(Disk(), "3:a");
}

TEST_F(OrderTest, ADelayThatFiresSetsThePriorityOfAHeldKeyAndRaisesThatOfADirtyOne) {
  Reopen({.order = Order::kPriorities, .re_add = ReAdd::kRaisesLane});
  Add("a", 10);
  Get();
  AddAfter("a", kSecond, 2);
  Advance(kSecond);
  EXPECT_EQ(Disk(), "2:a");
  AddAfter("a", kSecond, 1);
  Advance(kSecond);
  EXPECT_EQ(Disk(), "2:a");
  AddAfter("a", kSecond, 3);
  Advance(kSecond);
  EXPECT_EQ(Disk(), "3:a");
}

// controller-runtime#3363: the queue must not hand out a lower priority right after the Add of a
// higher one.
TEST_F(OrderTest, AHigherPriorityIsSeenByTheVeryNextGet) {
  Reopen({.order = Order::kPriorities});
  Add("low", 1);
  Add("high", 2);
  EXPECT_EQ(Get(), "high");
}

// --- No starvation ---

TEST_F(OrderTest, OneOfEveryNHandOutsComesFromAWaitingLowerLane) {
  Reopen({.order = Order::kTwoLanes, .starvation_bound = 3});
  for (int i = 0; i < 6; ++i) {
    Add("f" + std::to_string(i));
  }
  Add("s0", kSlowLane);
  Add("s1", kSlowLane);
  Add("s2", kSlowLane);
  EXPECT_EQ(Drain(), "f0 f1 s0 f2 f3 s1 f4 f5 s2");
}

TEST_F(OrderTest, WithoutALowerLaneWaitingNothingIsCounted) {
  Reopen({.order = Order::kTwoLanes, .starvation_bound = 2});
  for (const char* key : {"a", "b", "c"}) {
    Add(key);
  }
  EXPECT_EQ(GetMany(3), "abc");
  Add("slow", kSlowLane);
  Add("d");
  EXPECT_EQ(Get(), "d");
  EXPECT_EQ(Get(), "slow");
}

TEST_F(OrderTest, OfSeveralLowerLanesTheOneThatWaitsLongestIsServed) {
  Reopen({.order = Order::kPriorities, .starvation_bound = 2});
  Add("low", 1);
  Add("middle", 2);
  for (int i = 0; i < 3; ++i) {
    Add("h" + std::to_string(i), 3);
  }
  EXPECT_EQ(Drain(), "h0 low h1 middle h2");
}

// --- Fairness ---

TEST_F(OrderTest, GroupsAreServedInTurn) {
  Reopen({.order = Order::kFair});
  for (const char* key : {"a1", "a2", "a3", "a4"}) {
    Add(key, {}, "a");
  }
  Add("b1", {}, "b");
  Add("b2", {}, "b");
  Add("c1", {}, "c");
  EXPECT_EQ(Listing(), "a1 b1 c1 a2 b2 a3 a4");
  Crash();
  EXPECT_EQ(Listing(), "a1 b1 c1 a2 b2 a3 a4");
  EXPECT_EQ(Drain(), "a1 b1 c1 a2 b2 a3 a4");
}

TEST_F(OrderTest, KeysWithoutAGroupAreOneGroup) {
  Reopen({.order = Order::kFair});
  Add("x");
  Add("y");
  Add("a1", {}, "a");
  EXPECT_EQ(Drain(), "x a1 y");
}

TEST_F(OrderTest, AKeyKeepsItsGroupAsLongAsItIsKnown) {
  Reopen({.order = Order::kFair});
  Add("k", {}, "first");
  Add("k", {}, "second");
  Get();
  Add("k", {}, "third");
  AddAfter("k", kSecond);
  Done("k");
  Get();
  Done("k");
  Crash();
  Advance(kSecond);
  std::string group;
  state().ForEachQueued([&group](const Item& item) {
    group = item.group_name();
    return true;
  });
  EXPECT_EQ(group, "first");
  Get();
  Done("k");
  Add("k", {}, "fourth");
  state().ForEachQueued([&group](const Item& item) {
    group = item.group_name();
    return true;
  });
  EXPECT_EQ(group, "fourth");
}

TEST_F(OrderTest, RemoveLeavesTheOthersInTurn) {
  Reopen({.order = Order::kFair});
  Add("a1", {}, "a");
  Add("b1", {}, "b");
  Add("b2", {}, "b");
  Add("c1", {}, "c");
  EXPECT_TRUE(Do([](QueueState& s) { return s.Remove("b1"); }));
  EXPECT_TRUE(Do([](QueueState& s) { return s.Remove("a1"); }));
  EXPECT_EQ(Listing(), "b2 c1");
  EXPECT_EQ(Drain(), "b2 c1");
}

// --- A change of order between two openings ---

TEST_F(OrderTest, KeysFindTheirPlaceInAnotherOrder) {
  Reopen({.order = Order::kPriorities});
  Add("a", 7, "x");
  Add("b", -7, "y");
  Add("c", {}, "x");
  Reopen({.order = Order::kFair});  // One lane: the others' keys go to its back.
  EXPECT_EQ(Listing(), "c b a");
  Reopen({.order = Order::kPriorities});
  EXPECT_EQ(Drain(), "c a b");
}

TEST(CheckOrder, RefusesWhatMakesNoSense) {
  EXPECT_EQ(CheckOrder({}), nullptr);
  EXPECT_NE(CheckOrder({.order = static_cast<Order>(99)}), nullptr);
  EXPECT_NE(CheckOrder({.order = Order::kTwoLanes, .starvation_bound = 1}), nullptr);
}

// --- Aging ---

TEST_F(OrderTest, AKeyThatWaitsCountsAsALaneHigherForEachAging) {
  Reopen({.order = Order::kPriorities, .aging = std::chrono::seconds(1)});
  Add("low", 0);
  Advance(3 * kSecond - 1);
  Add("high", 3);
  EXPECT_EQ(Get(), "high") << "low has waited for less than three agings";
  Advance(1);
  Add("late", 3);
  EXPECT_EQ(Drain(), "low late") << "equal ones by age";
}

TEST_F(OrderTest, AgingKeepsEachLaneFirstInFirstOut) {
  Reopen({.order = Order::kTwoLanes, .aging = std::chrono::seconds(1)});
  Add("s1", kSlowLane);
  Add("s2", kSlowLane);
  Advance(100 * kSecond);
  Add("f1");
  Add("f2");
  Crash();
  EXPECT_EQ(Drain(), "s1 s2 f1 f2");
}

TEST_F(OrderTest, AgingOfFarLanesDoesNotOverflow) {
  Reopen({.order = Order::kPriorities, .aging = kMaxDelay});
  Add("min", INT32_MIN);
  Advance(3600 * kSecond);
  Add("max", INT32_MAX);
  EXPECT_EQ(Drain(), "max min");
}

}  // namespace
}  // namespace wq
