// Limits on hand-outs: simulations of what include/wq/options.h promises of rates and shares.

#include <algorithm>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/engine/state/state_fixture.h"
#include "tests/support/environment.h"

namespace wq {
namespace {

using namespace std::chrono_literals;

class LimitsTest : public ::testing::Test, public StateFixture {};

TEST_F(LimitsTest, TheRateIsExactOverTenPeriods) {
  for (const double per_second : {0.3, 7.0, 300.0, 11'111.0}) {
    Reopen({.group_limits = {.rate = {.per_second = per_second}}});
    const auto hours = static_cast<size_t>(std::min(2'000.0, 3600 * per_second));
    std::vector<int64_t> taken_us;
    for (size_t i = 0; taken_us.size() < hours; ++i) {
      Add("a" + std::to_string(i), {}, "a");
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

}  // namespace
}  // namespace wq
