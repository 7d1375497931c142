// Limits on hand-outs: of a group's keys that are processing, of rates, and shares by weight. The
// simulations measure what include/wq/options.h promises.

#include <algorithm>
#include <cmath>
#include <deque>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/state/state_fixture.h"
#include "tests/support/environment.h"

namespace wq {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::Pair;

class LimitsTest : public ::testing::Test, public StateFixture {
 protected:
  // The groups with limits that were set.
  std::vector<std::string> OwnGroups() {
    std::vector<std::string> names;
    for (const auto& [name, _] : state().own_groups()) {
      names.emplace_back(name);
    }
    return names;
  }
  // "a1" is of group "a"; a key without a digit is of none.
  void AddKeys(const std::vector<std::string>& keys, std::optional<Lane> lane = {}) {
    for (const std::string& key : keys) {
      Add(key, lane, key.size() > 1 ? key.substr(0, 1) : "");
    }
  }
  std::string TakeMany(int n) {
    std::string keys;
    for (int i = 0; i < n; ++i) {
      const std::string key = Take();
      keys += (i == 0 ? "" : " ") + (key.empty() ? "-" : key);
    }
    return keys;
  }
  size_t HeldBack() const { return const_cast<LimitsTest*>(this)->state().Counts().held_back; }
  // The groups with a row on disk.
  std::vector<std::string> Rows() {
    std::vector<std::string> groups;
    const Status s = storage::ScanLimits(storage(), kId, [&](const storage::LimitsRecord& r) {
      groups.emplace_back(r.group);
      return true;
    });
    EXPECT_TRUE(s.ok()) << s.ToString();
    return groups;
  }
};

// --- Keys that are processing ---

TEST_F(LimitsTest, TheNextKeyOfAnotherGroupPassesAGroupAtItsLimit) {
  Reopen({.group_limits = {.max_processing = 1}});
  AddKeys({"a1", "a2", "b1", "x", "y"});
  EXPECT_EQ(TakeMany(5), "a1 b1 x y -");
  EXPECT_EQ(HeldBack(), 1u);
  AddKeys({"b2"});
  EXPECT_TRUE(Done("b1"));
  EXPECT_TRUE(Done("a1"));
  EXPECT_EQ(TakeMany(3), "a2 b2 -") << "a2 was first, and has kept its place";
  EXPECT_EQ(HeldBack(), 0u);
}

TEST_F(LimitsTest, TheFirstLimitsOfAGroupProlongNoStarvation) {
  Reopen({.order = Order::kTwoLanes, .starvation_bound = 3});
  AddKeys({"s1"}, kSlowLane);
  AddKeys({"f1", "f2", "f3", "f4", "f5"});
  EXPECT_EQ(TakeMany(2), "f1 f2");
  SetLimits("g", GroupLimits{.max_processing = 1});  // The order is by group from now on.
  EXPECT_EQ(TakeMany(2), "s1 f3");
}

TEST_F(LimitsTest, ABucketThatIsFullAfterTheEndOfTheClockIsNoNewBurst) {
  now.wall_us = INT64_MAX - kSecond;
  Reopen({.group_limits = {.rate = {.per_second = 0.01}}});
  AddKeys({"a1", "a2"});
  EXPECT_EQ(TakeMany(2), "a1 -");
  Crash();
  EXPECT_EQ(Take(), "");
}

TEST_F(LimitsTest, AGroupThatIsHeldBackHoldsBackNoLowerLane) {
  Reopen({.order = Order::kTwoLanes, .group_limits = {.max_processing = 1}});
  AddKeys({"a1", "a2"});
  AddKeys({"b1", "a3"}, kSlowLane);
  EXPECT_EQ(TakeMany(3), "a1 b1 -");
  Done("a1");
  EXPECT_EQ(TakeMany(2), "a2 -");
}

TEST_F(LimitsTest, TheQueueHasALimitOfItsOwn) {
  Reopen({.limits = {.max_processing = 2}});
  AddKeys({"a1", "a2", "x"});
  EXPECT_EQ(TakeMany(3), "a1 a2 -");
  EXPECT_EQ(HeldBack(), 1u);
  Done("a2");
  EXPECT_EQ(TakeMany(2), "x -");
}

TEST_F(LimitsTest, AKeyThatIsPutBackMakesRoom) {
  Reopen({.group_limits = {.max_processing = 1}});
  AddKeys({"a1", "a2"});
  EXPECT_EQ(TakeMany(2), "a1 -");
  EXPECT_TRUE(Do([](QueueState& s) { return s.PutBack("a1"); }));
  EXPECT_EQ(TakeMany(2), "a1 -");
}

TEST_F(LimitsTest, KeysThatWereProcessingCountNoMoreAfterACrash) {
  Reopen({.group_limits = {.max_processing = 1}});
  AddKeys({"a1", "a2"});
  EXPECT_EQ(TakeMany(1), "a1");
  Crash();
  EXPECT_EQ(TakeMany(2), "a1 -");
}

TEST_F(LimitsTest, AShardedQueueHasBoth) {
  Reopen({.group_limits = {.max_processing = 1}, .shards = 1});
  AddKeys({"a1", "b1"});
  EXPECT_EQ(TakeMany(2), "a1 -") << "of one shard one key is processing";
  Done("a1");
  EXPECT_EQ(TakeMany(1), "b1");
}

// --- Rates ---

TEST_F(LimitsTest, ARateHoldsAGroupBackUntilItsBucketHasAToken) {
  Reopen({.group_limits = {.rate = {.per_second = 2, .burst = 2}}});
  AddKeys({"a1", "a2", "a3", "a4", "b1"});
  EXPECT_EQ(TakeMany(4), "a1 a2 b1 -");
  EXPECT_EQ(HeldBack(), 2u);
  EXPECT_EQ(state().StatusOf("a", now.steady_us).next_in, std::optional(500'000us));
  Advance(499'999);
  EXPECT_EQ(TakeMany(1), "-");
  Advance(1);
  EXPECT_EQ(TakeMany(2), "a3 -");
  Advance(kSecond / 2);
  EXPECT_EQ(TakeMany(1), "a4");
}

TEST_F(LimitsTest, TheWaitForATokenSurvivesACrash) {
  Reopen({.group_limits = {.rate = {.per_second = 0.1}}});
  AddKeys({"a1", "a2"});
  EXPECT_EQ(TakeMany(1), "a1");
  Done("a1");
  Advance(4 * kSecond);
  Crash();
  EXPECT_EQ(TakeMany(1), "-");
  Advance(6 * kSecond - 1);
  EXPECT_EQ(TakeMany(1), "-");
  Advance(1);
  EXPECT_EQ(TakeMany(1), "a2");
}

TEST_F(LimitsTest, AClockThatWasSetBackCostsAtMostABucket) {
  Reopen({.group_limits = {.rate = {.per_second = 0.1, .burst = 2}}});
  AddKeys({"a1", "a2", "a3"});
  EXPECT_EQ(TakeMany(3), "a1 a2 -");
  now.wall_us -= 3600 * kSecond;
  Crash();
  Advance(10 * kSecond - 1);
  EXPECT_EQ(TakeMany(1), "-");
  Advance(1);
  EXPECT_EQ(TakeMany(1), "a1");
}

TEST_F(LimitsTest, NothingIsKeptOfAGroupWhoseBucketIsFull) {
  Reopen({.group_limits = {.rate = {.per_second = 1, .burst = 3}}});
  AddKeys({"a1", "b1"});
  EXPECT_EQ(TakeMany(2), "a1 b1");
  Done("a1");
  EXPECT_THAT(Rows(), ElementsAre("a", "b"));
  Advance(kSecond);
  EXPECT_THAT(Rows(), ElementsAre());
  EXPECT_EQ(state().NextDue(), std::nullopt);
  EXPECT_EQ(state().StatusOf("b", now.steady_us).processing, 1u) << "a worker holds its key";
}

TEST_F(LimitsTest, ABucketThatHasFilledMeanwhileIsForgottenAtARestart) {
  Reopen({.group_limits = {.rate = {.per_second = 1}}});
  AddKeys({"a1"});
  EXPECT_EQ(TakeMany(1), "a1");
  now.wall_us += kSecond;
  Crash();
  EXPECT_THAT(Rows(), ElementsAre());
  EXPECT_EQ(TakeMany(1), "a1");
}

// --- Limits that are set while the queue runs ---

TEST_F(LimitsTest, LimitsAreSetAndKept) {
  AddKeys({"a1", "a2", "a3", "b1", "b2"});
  EXPECT_EQ(TakeMany(1), "a1");
  SetLimits("a", GroupLimits{.max_processing = 2});
  EXPECT_EQ(TakeMany(4), "a2 b1 b2 -") << "a1 counts, though it was handed out before";
  EXPECT_THAT(OwnGroups(), ElementsAre("a"));
  Crash();
  EXPECT_THAT(OwnGroups(), ElementsAre("a"));
  EXPECT_EQ(TakeMany(5), "a1 a2 b1 b2 -");
  SetLimits("a", GroupLimits{.max_processing = 3});
  EXPECT_EQ(TakeMany(2), "a3 -");
  SetLimits("a", std::nullopt);
  EXPECT_THAT(OwnGroups(), ElementsAre());
  EXPECT_THAT(Rows(), ElementsAre());
}

TEST_F(LimitsTest, LimitsThatBoundNothingCountNoKeyTwice) {
  AddKeys({"a1", "a2"});
  EXPECT_EQ(TakeMany(1), "a1");
  SetLimits("a", GroupLimits{.weight = 3});
  SetLimits("a", GroupLimits{.max_processing = 1});
  EXPECT_EQ(state().StatusOf("a", now.steady_us).processing, 1u);
  Done("a1");
  EXPECT_EQ(TakeMany(1), "a2");
}

TEST_F(LimitsTest, FewerThanAreHeldIsNoError) {
  Reopen({.group_limits = {.max_processing = 3}});
  AddKeys({"a1", "a2", "a3", "a4"});
  EXPECT_EQ(TakeMany(3), "a1 a2 a3");
  SetLimits("a", GroupLimits{.max_processing = 1});
  Done("a1");
  Done("a2");
  EXPECT_EQ(TakeMany(1), "-");
  Done("a3");
  EXPECT_EQ(TakeMany(1), "a4");
}

TEST_F(LimitsTest, AnotherRateKeepsHowManyTokensAreMissing) {
  SetLimits("a", GroupLimits{.rate = {.per_second = 1, .burst = 4}});
  AddKeys({"a1", "a2", "a3", "a4", "a5"});
  EXPECT_EQ(TakeMany(4), "a1 a2 a3 a4");
  SetLimits("a", GroupLimits{.rate = {.per_second = 10, .burst = 4}});
  EXPECT_EQ(TakeMany(1), "-");
  Advance(kSecond / 10);
  EXPECT_EQ(TakeMany(1), "a5");
  SetLimits("a", GroupLimits{});
  AddKeys({"a6", "a7", "a8", "a9"});
  EXPECT_EQ(TakeMany(4), "a6 a7 a8 a9");
}

TEST_F(LimitsTest, TheLimitsOfTheQueueAreSetByNoName) {
  AddKeys({"a1", "x"});
  SetLimits("", GroupLimits{.max_processing = 1});
  EXPECT_EQ(TakeMany(2), "a1 -");
  Crash();
  EXPECT_EQ(TakeMany(2), "a1 -");
  SetLimits("", std::nullopt);
  EXPECT_EQ(TakeMany(1), "x");
  EXPECT_THAT(Rows(), ElementsAre());
}

TEST_F(LimitsTest, TheOrderStaysWhenTheFirstLimitIsSet) {
  Reopen({.order = Order::kPriorities});
  for (int i = 0; i < 50; ++i) {
    Add("k" + std::to_string(i), i % 7, i % 3 == 0 ? "" : "g" + std::to_string(i % 5));
  }
  std::vector<std::string> before;
  state().ForEachQueued([&](const Item& item) {
    before.emplace_back(item.key());
    return true;
  });
  SetLimits("g1", GroupLimits{.max_processing = 100});
  std::vector<std::string> after;
  while (after.size() < before.size()) {
    after.push_back(Take());
  }
  EXPECT_EQ(after, before);
}

// --- Shares ---

TEST_F(LimitsTest, GroupsTakeTurnsWithinEachLane) {
  Reopen({.order = Order::kFair, .lanes = {-1}});
  AddKeys({"a1", "a2", "a3", "b1"}, -1);
  AddKeys({"c1", "c2", "d1"});
  EXPECT_EQ(TakeMany(8), "c1 d1 c2 a1 b1 a2 a3 -");
}

TEST_F(LimitsTest, AKeyIsListedWhereItWillBeHandedOut) {
  Reopen({.order = Order::kFair});
  SetLimits("a", GroupLimits{.weight = 3});
  AddKeys({"b1", "b2", "b3", "a1", "a2", "a3", "a4", "c1"});
  std::string listed;
  state().ForEachQueued([&](const Item& item) {
    listed += (listed.empty() ? "" : " ") + std::string(item.key());
    return true;
  });
  EXPECT_EQ(TakeMany(8), listed);
}

// --- Simulations ---

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kLimitSteps = 20'000;  // Each takes fifty times as long.
#else
constexpr int kLimitSteps = 100'000;
#endif

TEST_F(LimitsTest, NeverMoreThanTheLimitAndNeverLessThanPossible) {
  const uint64_t seed = support::Seed();
  std::cout << "replay with WQ_SEED=" << seed << "\n";
  std::mt19937_64 random(seed);
  const auto below = [&random](uint64_t n) { return random() % n; };
  Reopen({.order = Order::kTwoLanes, .group_limits = {.max_processing = 2}});
  std::map<std::string, uint32_t> limits;
  std::map<std::string, uint32_t> processing;
  std::map<std::string, std::string> group_of;
  std::deque<std::string> held;
  for (int i = 0; i < 20; ++i) {
    limits["g" + std::to_string(i)] = 2;
  }
  for (int step = 0; step < kLimitSteps; ++step) {
    const std::string group = "g" + std::to_string(below(limits.size()));
    const std::string key = "k" + std::to_string(below(500));
    switch (below(8)) {
      case 0:
      case 1:
      case 2:
        Add(key, below(2) == 0 ? kFastLane : kSlowLane, group);
        break;
      case 3:
        if (below(50) == 0) {
          limits[group] = 1 + static_cast<uint32_t>(below(5));
          SetLimits(group, GroupLimits{.max_processing = limits[group]});
        }
        break;
      case 4:
        if (!held.empty()) {
          --processing[group_of[held.front()]];
          ASSERT_TRUE(Done(held.front()));
          held.pop_front();
        }
        break;
      default: {
        const std::string taken = Take();
        if (!taken.empty()) {
          const std::string of(state().Find(taken)->group_name());
          group_of[taken] = of;
          held.push_back(taken);
          ASSERT_LE(++processing[of], limits[of]) << "step " << step;
          break;
        }
        state().ForEachQueued([&](const Item& item) {
          const std::string of(item.group_name());
          EXPECT_GE(processing[of], limits[of]) << item.key() << " could be handed out";
          return true;
        });
      }
    }
  }
  EXPECT_GT(held.size(), 0u);
}

TEST_F(LimitsTest, TheRateIsExactOverTenPeriods) {
  for (const double per_second : {0.3, 7.0, 300.0, 11'111.0}) {
    Reopen({.group_limits = {.rate = {.per_second = per_second}}});
    const auto hours = static_cast<size_t>(std::min(2'000.0, 3600 * per_second));
    std::vector<int64_t> taken_us;
    for (size_t i = 0; taken_us.size() < hours; ++i) {
      AddKeys({"a" + std::to_string(i)});
      for (std::string key = Take(); key.empty(); key = Take()) {
        Advance(*state().NextDue() - now.steady_us);
      }
      taken_us.push_back(now.steady_us);
      Done("a" + std::to_string(i));
    }
    const double wanted_us = 10 * 1e6 / per_second;
    for (size_t i = 0; i + 10 < taken_us.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(taken_us[i + 10] - taken_us[i]), wanted_us, wanted_us / 100)
          << per_second << " a second, from hand-out " << i;
    }
  }
}

// Timers and workers are late: by up to 0.9 periods here.
TEST_F(LimitsTest, ALateWorkerDoesNotLowerTheRate) {
  const uint64_t seed = support::Seed();
  std::cout << "replay with WQ_SEED=" << seed << "\n";
  std::mt19937_64 random(seed);
  Reopen({.limits = {.rate = {.per_second = 100}}});
  for (int i = 0; i < 3000; ++i) {
    Add("k" + std::to_string(i));
  }
  std::vector<int64_t> taken_us;
  while (taken_us.size() < 3000) {
    if (!Take().empty()) {
      taken_us.push_back(now.steady_us);
      continue;
    }
    Advance(*state().NextDue() - now.steady_us + static_cast<int64_t>(random() % 9000));
  }
  for (size_t i = 0; i + 1000 < taken_us.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(taken_us[i + 1000] - taken_us[i]), 1e7, 1e5);
  }
  for (size_t i = 0; i + 2 < taken_us.size(); ++i) {  // burst + 1 at once, at most.
    ASSERT_GE(taken_us[i + 2] - taken_us[i], 10'000);
  }
}

TEST_F(LimitsTest, SharesAreByWeight) {
  Reopen({.order = Order::kFair, .lanes = {-1}, .group_limits = {.weight = 2}});
  const std::map<std::string, uint32_t> weights = {
      {"a", 1}, {"b", 2}, {"c", 3}, {"d", 7}, {"e", 40}};
  for (const auto& [group, weight] : weights) {
    if (group != "b") {
      SetLimits(group, GroupLimits{.weight = weight});
    }
  }
  for (const Lane lane : {kFastLane, Lane{-1}}) {
    std::map<std::string, int> count;
    int next = 0;
    const auto feed = [&](const std::string& group) {
      Add(group + std::to_string(next++), lane, group);
    };
    for (const auto& [group, _] : weights) {
      feed(group);
      feed(group);
    }
    constexpr int kTakes = 53'000;
    for (int i = 0; i < kTakes; ++i) {
      const std::string key = Take();
      const std::string group = key.substr(0, 1);
      ++count[group];
      feed(group);
      Done(key);
    }
    for (const auto& [group, weight] : weights) {
      const double share = kTakes * weight / 53.0;
      EXPECT_NEAR(count[group], share, share / 50) << group;
    }
    for (std::string key = Take(); !key.empty(); key = Take()) {
      Done(key);
    }
  }
}

// A group that comes waits for each other group at most once, whatever their pasts.
TEST_F(LimitsTest, NoGroupStarves) {
  const uint64_t seed = support::Seed();
  std::cout << "replay with WQ_SEED=" << seed << "\n";
  std::mt19937_64 random(seed);
  Reopen({.order = Order::kFair, .group_limits = {.max_processing = 1}});
  std::deque<std::string> held;
  std::map<std::string, int> passed;  // Of the groups that wait: hand-outs of others meanwhile.
  for (int step = 0; step < 200'000; ++step) {
    const std::string group = "g" + std::to_string(random() % 30);
    Add(group + "/" + std::to_string(random() % 4), {}, group);
    passed.try_emplace(group, 0);
    if (held.size() > random() % 8) {
      Done(held.front());
      held.pop_front();
    }
    const std::string key = Take();
    if (key.empty()) {
      continue;
    }
    held.push_back(key);
    passed.erase(key.substr(0, key.find('/')));
    for (auto& [of, times] : passed) {
      const bool closed = state().StatusOf(of, now.steady_us).held_back;
      times = closed ? 0 : times + 1;
      ASSERT_LE(times, 2 * 30) << of << " at step " << step;
    }
  }
}

}  // namespace
}  // namespace wq
