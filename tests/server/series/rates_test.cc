// Rates over the last ten seconds.

#include "server/series/rates.h"

#include <gtest/gtest.h>

namespace wq {
namespace {

constexpr int64_t kSecond = 1'000'000;

TEST(RatesTest, TheFirstReadingHasNone) {
  Rates rates;
  EXPECT_EQ(rates.Measure("q", 5 * kSecond, {.adds = 100}).adds, 0);
}

TEST(RatesTest, TheyAreOfTheLastTenSeconds) {
  Rates rates;
  QueueTotals totals;
  for (int64_t second = 0; second <= 100; ++second) {
    const uint64_t rate = second <= 50 ? 10 : 40;
    totals.adds += rate;
    totals.dones += 2 * rate;
    totals.failures += rate / 10;
    const Rates::PerSecond now = rates.Measure("q", second * kSecond, totals);
    if ((second > 0 && second <= 50) || second > 60) {
      EXPECT_DOUBLE_EQ(now.adds, static_cast<double>(rate)) << second;
      EXPECT_DOUBLE_EQ(now.dones, static_cast<double>(2 * rate)) << second;
      EXPECT_DOUBLE_EQ(now.failures, static_cast<double>(rate) / 10) << second;
    }
  }
}

TEST(RatesTest, ReadingsMayBeRareOrFrequent) {
  Rates rates;
  rates.Measure("rare", 0, {});
  EXPECT_DOUBLE_EQ(rates.Measure("rare", 100 * kSecond, {.adds = 50}).adds, 0.5);
  uint64_t adds = 0;
  for (int64_t ms = 0; ms <= 30'000; ms += 10) {
    adds += 1;
    const double rate = rates.Measure("frequent", ms * 1000, {.adds = adds}).adds;
    if (ms > 0) {
      EXPECT_NEAR(rate, 100, 1e-6) << ms;
    }
  }
}

TEST(RatesTest, AQueueThatWasOpenedAgainBeginsAnew) {
  Rates rates;
  rates.Measure("q", 0, {.adds = 1000});
  EXPECT_EQ(rates.Measure("q", kSecond, {.adds = 3}).adds, 0);
  EXPECT_DOUBLE_EQ(rates.Measure("q", 2 * kSecond, {.adds = 5}).adds, 2);
}

TEST(RatesTest, QueuesAreApartAndForgotten) {
  Rates rates;
  rates.Measure("a", 0, {});
  rates.Measure("b", 0, {});
  rates.Retain({"b"});
  EXPECT_EQ(rates.Measure("a", kSecond, {.adds = 5}).adds, 0);
  EXPECT_DOUBLE_EQ(rates.Measure("b", kSecond, {.adds = 5}).adds, 5);
}

}  // namespace
}  // namespace wq
