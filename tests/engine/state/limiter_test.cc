#include "wq/limiter.h"

#include <chrono>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace wq {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(ItemExponentialFailure, DoublesFromTheBaseUpToTheMaximum) {
  ItemExponentialFailure limiter(milliseconds(5), seconds(1000));
  const std::vector<milliseconds> expected = {
      milliseconds(5),      milliseconds(10),     milliseconds(20),      milliseconds(40),
      milliseconds(80),     milliseconds(160),    milliseconds(320),     milliseconds(640),
      milliseconds(1280),   milliseconds(2560),   milliseconds(5120),    milliseconds(10240),
      milliseconds(20480),  milliseconds(40960),  milliseconds(81920),   milliseconds(163840),
      milliseconds(327680), milliseconds(655360), milliseconds(1000000), milliseconds(1000000)};
  for (size_t failures = 0; failures < expected.size(); ++failures) {
    EXPECT_EQ(limiter.When("key", failures, {}), expected[failures]) << failures;
  }
}

TEST(ItemExponentialFailure, StaysBetweenZeroAndTheMaximumForAnyArguments) {
  const auto when = [](microseconds base, microseconds max, uint64_t failures) {
    return ItemExponentialFailure(base, max).When("key", failures, {});
  };
  EXPECT_EQ(when(microseconds(1), microseconds::max(), 62), microseconds(int64_t{1} << 62));
  for (const uint64_t failures : {uint64_t{63}, uint64_t{64}, uint64_t{1000}, UINT64_MAX}) {
    EXPECT_EQ(when(microseconds(1), microseconds::max(), failures), microseconds::max());
  }
  EXPECT_EQ(when(hours(2), hours(1), 0), hours(1));
  EXPECT_EQ(when(seconds(0), seconds(10), 0), seconds(0));
  EXPECT_EQ(when(seconds(0), seconds(10), 500), seconds(0));
  EXPECT_EQ(when(seconds(-1), seconds(-1), 3), seconds(0));
}

TEST(ItemFastSlow, IsFastForTheFirstAttemptsAndSlowAfterThem) {
  ItemFastSlow limiter(milliseconds(5), seconds(10), 3);
  for (const uint64_t failures : {uint64_t{0}, uint64_t{2}}) {
    EXPECT_EQ(limiter.When("key", failures, {}), milliseconds(5)) << failures;
  }
  for (const uint64_t failures : {uint64_t{3}, UINT64_MAX}) {
    EXPECT_EQ(limiter.When("key", failures, {}), seconds(10)) << failures;
  }
  EXPECT_EQ(ItemFastSlow(milliseconds(5), seconds(10), 0).When("key", 0, {}), seconds(10));
}

// --- Bucket ---

Time At(int64_t steady_ms, int64_t wall_ms = 0) { return {steady_ms * 1000, wall_ms * 1000}; }

TEST(Bucket, GivesItsBurstAndThenReservesAhead) {
  Bucket bucket(10, 3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(bucket.When("key", 0, At(0)), seconds(0)) << i;
  }
  EXPECT_EQ(bucket.When("key", 0, At(0)), milliseconds(100));
  EXPECT_EQ(bucket.When("other", 0, At(0)), milliseconds(200));
  EXPECT_EQ(bucket.When("key", 0, At(0)), milliseconds(300));
  EXPECT_EQ(bucket.When("key", 0, At(200)), milliseconds(200));  // Two tokens were added since.
}

TEST(Bucket, NeverHoldsMoreThanItsBurst) {
  Bucket bucket(10, 2);
  EXPECT_EQ(bucket.When("key", 0, At(0)), seconds(0));
  EXPECT_EQ(bucket.When("key", 0, At(3'600'000)), seconds(0));
  EXPECT_EQ(bucket.When("key", 0, At(3'600'000)), seconds(0));
  EXPECT_EQ(bucket.When("key", 0, At(3'600'000)), milliseconds(100));
}

TEST(Bucket, KeepsItsReservationsOverARestart) {
  Bucket before(10, 2);
  for (int i = 0; i < 7; ++i) {
    before.When("key", 0, At(500, 1000));
  }
  const std::string state = before.SaveState(At(500, 1000));
  Bucket at_once(10, 2);
  at_once.RestoreState(state, At(9, 1000));  // Steady time restarts; wall time is equal.
  EXPECT_EQ(at_once.When("key", 0, At(9, 1000)), milliseconds(600));
  Bucket later(10, 2);
  later.RestoreState(state, At(9, 1400));  // 400 ms later: four tokens more.
  EXPECT_EQ(later.When("key", 0, At(9, 1400)), milliseconds(200));
  Bucket set_back(10, 2);
  set_back.RestoreState(state, At(9, -86'400'000));
  EXPECT_EQ(set_back.When("key", 0, At(9, -86'400'000)), milliseconds(600));
}

TEST(Bucket, KeepsAnEndlessBurstOverARestart) {
  Bucket before(10, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(before.When("k", 0, {}).count(), 0);
  Bucket after(10, std::numeric_limits<int64_t>::max());
  after.RestoreState(before.SaveState({}), {});
  EXPECT_EQ(after.When("k", 0, {}).count(), 0);
}

TEST(Bucket, IgnoresAStateThatItCannotRead) {
  for (const char* state : {"", "x", "1", "1 ", "1 2x", "99999999999999999999 1"}) {
    Bucket bucket(10, 1);
    bucket.RestoreState(state, At(0));
    EXPECT_EQ(bucket.When("key", 0, At(0)), seconds(0)) << state;
    EXPECT_EQ(bucket.When("key", 0, At(0)), milliseconds(100)) << state;
  }
}

TEST(Bucket, BearsAbsurdArguments) {
  for (const double rate : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    Bucket bucket(rate, -5);
    EXPECT_EQ(bucket.When("key", 0, At(0)), seconds(0)) << rate;
    EXPECT_GT(bucket.When("key", 0, At(0)), seconds(0)) << rate;
  }
  Bucket endless(std::numeric_limits<double>::infinity(), 1);
  for (int i = 0; i < 100; ++i) {
    EXPECT_LE(endless.When("key", 0, At(0)), microseconds(1));
  }
}

// --- MaxOf, WithMaxWait ---

TEST(MaxOf, IsTheLongestAndAsksEachLimiter) {
  auto bucket = std::make_shared<Bucket>(1, 1);
  MaxOf limiter(
      {std::make_shared<ItemExponentialFailure>(seconds(5), seconds(100)), nullptr, bucket});
  EXPECT_EQ(limiter.When("key", 0, At(0)), seconds(5));
  EXPECT_EQ(limiter.When("key", 0, At(0)), seconds(5));
  EXPECT_EQ(bucket->When("key", 0, At(0)), seconds(2));  // Two of its tokens were taken.
  EXPECT_EQ(MaxOf({}).When("key", 9, {}), seconds(0));
}

TEST(MaxOf, KeepsTheStatesOfAll) {
  const auto make = [] {
    return MaxOf({std::make_shared<Bucket>(1, 1),
                  std::make_shared<ItemExponentialFailure>(seconds(0), seconds(0)),
                  std::make_shared<WithMaxWait>(std::make_shared<Bucket>(0.1, 1), seconds(15))});
  };
  MaxOf before = make();
  before.When("key", 0, At(0));
  before.When("key", 0, At(0));
  MaxOf after = make();
  after.RestoreState(before.SaveState(At(0)), At(0));
  EXPECT_EQ(after.When("key", 0, At(0)), seconds(15));
  EXPECT_EQ(before.When("key", 0, At(0)), seconds(15));
  EXPECT_EQ(
      MaxOf({std::make_shared<ItemExponentialFailure>(seconds(0), seconds(0))}).SaveState(At(0)),
      "");
  make().RestoreState("9999:x", At(0));
  make().RestoreState("garbage", At(0));
}

TEST(WithMaxWait, CapsTheInnerDelay) {
  WithMaxWait limiter(std::make_shared<ItemExponentialFailure>(seconds(1), seconds(100)),
                      seconds(3));
  EXPECT_EQ(limiter.When("key", 0, {}), seconds(1));
  EXPECT_EQ(limiter.When("key", 1, {}), seconds(2));
  EXPECT_EQ(limiter.When("key", 2, {}), seconds(3));
  EXPECT_EQ(limiter.When("key", 50, {}), seconds(3));
}

TEST(DefaultControllerLimiter, IsExponentialAndABucket) {
  const auto limiter = DefaultControllerLimiter();
  EXPECT_EQ(limiter->When("key", 0, At(0)), milliseconds(5));
  EXPECT_EQ(limiter->When("key", 30, At(0)), seconds(1000));
  for (int i = 2; i < 100; ++i) {
    EXPECT_EQ(limiter->When("key", 0, At(0)), milliseconds(5)) << i;
  }
  EXPECT_EQ(limiter->When("key", 0, At(0)), milliseconds(100));  // The burst of 100 is over.
}

}  // namespace
}  // namespace wq
