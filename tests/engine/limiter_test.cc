#include "wq/limiter.h"

#include <chrono>
#include <limits>
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
    EXPECT_EQ(limiter.When("key", failures), expected[failures]) << failures;
  }
}

TEST(ItemExponentialFailure, NeverOverflows) {
  ItemExponentialFailure limiter(microseconds(1), microseconds::max());
  EXPECT_EQ(limiter.When("key", 62), microseconds(int64_t{1} << 62));
  for (const uint64_t failures :
       {uint64_t{63}, uint64_t{64}, uint64_t{1000}, std::numeric_limits<uint64_t>::max()}) {
    EXPECT_EQ(limiter.When("key", failures), microseconds::max()) << failures;
  }
}

TEST(ItemExponentialFailure, ABaseAboveTheMaximumIsTheMaximum) {
  ItemExponentialFailure limiter(hours(2), hours(1));
  EXPECT_EQ(limiter.When("key", 0), hours(1));
}

TEST(ItemExponentialFailure, ABaseOfZeroStaysZero) {
  ItemExponentialFailure limiter(seconds(0), seconds(10));
  EXPECT_EQ(limiter.When("key", 0), seconds(0));
  EXPECT_EQ(limiter.When("key", 500), seconds(0));
}

}  // namespace
}  // namespace wq
