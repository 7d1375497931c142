// Limits on hand-outs: simulations of what include/wq/options.h promises of rates and shares.

#include <algorithm>
#include <cmath>
#include <deque>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/engine/state/state_fixture.h"
#include "tests/support/environment.h"

namespace wq {
namespace {

using namespace std::chrono_literals;

class LimitsTest : public ::testing::Test, public StateFixture {
 protected:
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
};

TEST_F(LimitsTest, TheFirstLimitsOfGroupsProlongNoStarvation) {
  Reopen({.order = Order::kTwoLanes, .starvation_bound = 3});
  AddKeys({"s1"}, kSlowLane);
  AddKeys({"f1", "f2", "f3", "f4", "f5"});
  EXPECT_EQ(TakeMany(2), "f1 f2");
  SetLimits({.max_processing = 9});  // The order is by group from now on.
  EXPECT_EQ(TakeMany(2), "s1 f3");
}

TEST_F(LimitsTest, ARestartFillsTheBuckets) {
  Reopen({.group_limits = {.rate = {.per_second = 0.01}}});
  AddKeys({"a1", "a2"});
  EXPECT_EQ(TakeMany(2), "a1 -");
  Crash();
  EXPECT_EQ(TakeMany(2), "a1 -");
}

TEST_F(LimitsTest, NewLimitsCountForKeysThatAreHeld) {
  AddKeys({"a1", "a2", "b1", "b2"});
  EXPECT_EQ(TakeMany(2), "a1 a2");
  SetLimits({.max_processing = 2});
  AddKeys({"a3"});
  EXPECT_EQ(TakeMany(3), "b1 b2 -");
  Done("a1");
  EXPECT_EQ(TakeMany(2), "a3 -");
  AddKeys({"a4"});
  SetLimits({});
  EXPECT_EQ(TakeMany(1), "a4");
}

// As many tokens are missing as before.
TEST_F(LimitsTest, ANewRateIsNoNewBurst) {
  Reopen({.group_limits = {.rate = {.per_second = 0.01}}});
  AddKeys({"a1", "a2", "b1"});
  EXPECT_EQ(TakeMany(3), "a1 b1 -");
  SetLimits({.rate = {.per_second = 1}});
  EXPECT_EQ(Take(), "");
  Advance(kSecond);
  EXPECT_EQ(Take(), "a2");
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
  SetLimits({.max_processing = 100});
  std::vector<std::string> after;
  while (after.size() < before.size()) {
    after.push_back(Take());
  }
  EXPECT_EQ(after, before);
}

// --- Simulations ---

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kLimitSteps = 20'000;  // Each takes fifty times as long.
#else
constexpr int kLimitSteps = 100'000;
#endif

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
      const bool closed = std::any_of(held.begin(), held.end(), [&of = of](const auto& other) {
        return other.substr(0, other.find('/')) == of;
      });
      times = closed ? 0 : times + 1;
      ASSERT_LE(times, 2 * 30) << of << " at step " << step;
    }
  }
}

}  // namespace
}  // namespace wq
