#include "tools/wqctl/work/limits.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string_view>

namespace wqctl {
namespace {

using std::chrono::microseconds;

int CountOf(std::string_view text, int cpus) {
  const auto workers = ParseWorkers(text);
  return workers ? workers->CountFor(cpus) : -1;
}

TEST(LimitsTest, WorkersAreACountOrRelativeToTheCpus) {
  EXPECT_EQ(CountOf("1", 8), 1);
  EXPECT_EQ(CountOf("1024", 8), 1024);
  EXPECT_EQ(CountOf("0", 8), kMaxWorkers);
  EXPECT_EQ(CountOf("+0", 8), 8);
  EXPECT_EQ(CountOf("+3", 8), 11);
  EXPECT_EQ(CountOf("-3", 8), 5);
  EXPECT_EQ(CountOf("50%", 8), 4);
  EXPECT_EQ(CountOf("150%", 8), 12);
}

TEST(LimitsTest, WorkersAreAtLeastOneAndAtMostTheMaximum) {
  EXPECT_EQ(CountOf("-8", 8), 1);
  EXPECT_EQ(CountOf("-1024", 8), 1);
  EXPECT_EQ(CountOf("1%", 8), 1);
  EXPECT_EQ(CountOf("+1024", 8), kMaxWorkers);
  EXPECT_EQ(CountOf("100000%", 64), kMaxWorkers);
  EXPECT_GE(UsableCpus(), 1);
}

TEST(LimitsTest, OtherTextsAreNoNumberOfWorkers) {
  for (const std::string_view text :
       {"", "1025", "x", "1x", "+", "-", "%", "+x", "0%", "-1%", "+-1", "++1", " 1", "1 ", "1.5",
        "100001%", "99999999999999999999"}) {
    EXPECT_FALSE(ParseWorkers(text)) << text;
  }
}

microseconds IntervalOf(std::string_view text) {
  const auto rate = ParseRate(text);
  return rate ? rate->interval : microseconds{-1};
}

TEST(LimitsTest, RateIsStartsPerSecondMinuteOrHour) {
  EXPECT_EQ(IntervalOf("10"), microseconds{100'000});
  EXPECT_EQ(IntervalOf("10/s"), microseconds{100'000});
  EXPECT_EQ(IntervalOf("0.5"), microseconds{2'000'000});
  EXPECT_EQ(IntervalOf("60/m"), microseconds{1'000'000});
  EXPECT_EQ(IntervalOf("3600/h"), microseconds{1'000'000});
  EXPECT_EQ(IntervalOf("1000000"), microseconds{1});
  EXPECT_EQ(IntervalOf("1/h"), microseconds{3'600'000'000});
}

TEST(LimitsTest, OtherTextsAreNoRate) {
  for (const std::string_view text : {"", "0", "-1", "x", "1x", "1/x", "/s", "1/", "1e3", "inf",
                                      "nan", "1000001", "0.01/h", " 1"}) {
    EXPECT_FALSE(ParseRate(text)) << text;
  }
}

TEST(LimitsTest, HaltAtACountOfFailuresSuccessesOrBoth) {
  const auto fail = ParseHalt("soon,fail=2");
  ASSERT_TRUE(fail);
  EXPECT_EQ(fail->when, Halt::When::kSoon);
  EXPECT_FALSE(fail->Reached(9, 1, 100));
  EXPECT_TRUE(fail->Reached(0, 2, 100));

  const auto success = ParseHalt("now,success=3");
  ASSERT_TRUE(success);
  EXPECT_EQ(success->when, Halt::When::kNow);
  EXPECT_FALSE(success->Reached(2, 9, 100));
  EXPECT_TRUE(success->Reached(3, 0, 100));

  const auto done = ParseHalt("soon,done=3");
  ASSERT_TRUE(done);
  EXPECT_FALSE(done->Reached(1, 1, 100));
  EXPECT_TRUE(done->Reached(1, 2, 100));
}

TEST(LimitsTest, HaltAtAPercentageOfTheKeysAtTheStart) {
  const auto halt = ParseHalt("soon,fail=10%");
  ASSERT_TRUE(halt);
  EXPECT_FALSE(halt->Reached(50, 9, 100));
  EXPECT_TRUE(halt->Reached(0, 10, 100));
  EXPECT_FALSE(halt->Reached(5, 0, 3));
  EXPECT_TRUE(halt->Reached(0, 1, 3));
  EXPECT_FALSE(halt->Reached(5, 0, 0)) << "without a failure";
}

TEST(LimitsTest, ShortFormsOfHalt) {
  const auto same = [](std::string_view text, Halt::When when, Halt::Why why) {
    const auto halt = ParseHalt(text);
    return halt && halt->when == when && halt->why == why && halt->number == 1 && !halt->percent;
  };
  EXPECT_TRUE(same("1", Halt::When::kSoon, Halt::Why::kFail));
  EXPECT_TRUE(same("2", Halt::When::kNow, Halt::Why::kFail));
  EXPECT_TRUE(same("-1", Halt::When::kSoon, Halt::Why::kSuccess));
  EXPECT_TRUE(same("-2", Halt::When::kNow, Halt::Why::kSuccess));
  for (const std::string_view text : {"0", "never"}) {
    const auto halt = ParseHalt(text);
    ASSERT_TRUE(halt) << text;
    EXPECT_FALSE(halt->Reached(1000, 1000, 1)) << text;
  }
  const auto percent = ParseHalt("5%");
  ASSERT_TRUE(percent);
  EXPECT_TRUE(percent->Reached(0, 5, 100));
  EXPECT_FALSE(percent->Reached(0, 4, 100));
}

TEST(LimitsTest, OtherTextsAreNoHalt) {
  for (const std::string_view text :
       {"", "soon", "now,", "never,fail=1", "soon,fail", "soon,fail=", "soon,fail=0", "soon,fail=x",
        "soon,fail=0%", "soon,fail=101%", "later,fail=1", "soon,lost=1", "3", "-3", "0%", "101%",
        "soon,fail=1,now"}) {
    EXPECT_FALSE(ParseHalt(text)) << text;
  }
}

}  // namespace
}  // namespace wqctl
