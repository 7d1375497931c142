#include "tools/wqctl/text/progress_meter.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace wqctl {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr size_t kWide = 200;

// The line at a time, or "-".
std::string LineAt(ProgressMeter* meter, int64_t now_us, const ProgressCount& count) {
  return meter->Line(count, now_us, kWide).value_or("-");
}

TEST(ProgressMeterTest, NothingIsDueInTheFirstSecond) {
  ProgressMeter meter(0, {});
  meter.Begin({.name = "load", .unit = "keys"}, 0);
  EXPECT_EQ(LineAt(&meter, 0, {}), "-");
  EXPECT_EQ(LineAt(&meter, kSecond / 2, {.done = 50}), "-");
  EXPECT_EQ(LineAt(&meter, kSecond - 1, {.done = 99}), "-");
  EXPECT_EQ(LineAt(&meter, kSecond + kSecond / 2, {.done = 150}), "load: 150 keys, 100/s");
}

TEST(ProgressMeterTest, AtMostFiveLinesASecond) {
  ProgressMeter meter(0, {});
  meter.Begin({.name = "load", .unit = "keys"}, 0);
  int lines = 0;
  for (int64_t now = 0; now < 3 * kSecond; now += 1000) {
    const bool due = meter.IsDue(now);
    const bool shown = meter.Line({.done = static_cast<uint64_t>(now)}, now, kWide).has_value();
    EXPECT_TRUE(due || !shown);
    lines += shown ? 1 : 0;
  }
  EXPECT_EQ(lines, 10);
}

TEST(ProgressMeterTest, ALineHasTheShareTheRateAndTheTimeThatIsLeft) {
  constexpr uint64_t kGiB = uint64_t{1} << 30;
  struct Case {
    const char* unit;
    uint64_t total;  // 0: not known.
    int64_t seconds;
    uint64_t done;
    const char* line;
  };
  for (const Case& each : std::initializer_list<Case>{
           {"keys", 5'000'000, 3, 1'234'567,
            "1 234 567 of 5 000 000 keys (24 %), 412 k/s, 10s left"},
           {"rows", 100, 1, 101, "101 rows, 101/s"},  // The total was an estimate.
           {"bytes", 5 * kGiB, 2, kGiB, "1.0 GiB of 5.0 GiB (20 %), 512.0 MiB/s, 8s left"},
           {"keys", 0, 4, 1, "1 keys, 0.2/s"},
           {"keys", 0, 10, 99, "99 keys, 9.9/s"},
           {"keys", 0, 1, 9'949, "9 949 keys, 9949/s"},
           {"keys", 0, 1, 9'950, "9 950 keys, 10 k/s"},
           {"keys", 0, 1, 999'499, "999 499 keys, 999 k/s"},
           {"keys", 0, 1, 999'500, "999 500 keys, 1.0 M/s"},
           {"keys", 0, 1, 12'340'000, "12 340 000 keys, 12.3 M/s"}}) {
    ProgressMeter meter(0, {});
    meter.Begin({.name = "x", .unit = each.unit, .total = each.total}, 0);
    EXPECT_EQ(LineAt(&meter, each.seconds * kSecond, {.done = each.done}),
              std::string("x: ") + each.line);
  }
}

TEST(ProgressMeterTest, ThePartOfAFileGivesThemToo) {
  ProgressMeter meter(0, {});
  meter.Begin({.name = "add", .unit = "keys"}, 0);
  EXPECT_EQ(LineAt(&meter, 2 * kSecond, {.done = 300, .part = 1000, .whole = 4000}),
            "add: 300 keys (25 %), 150/s, 6s left");
  EXPECT_EQ(LineAt(&meter, 4 * kSecond, {.done = 500, .part = 4000, .whole = 4000}),
            "add: 500 keys (100 %), 125/s, 0s left");
}

TEST(ProgressMeterTest, TheRateIsThatOfTheLastSeconds) {
  ProgressMeter meter(0, {.window_us = 5 * kSecond});
  meter.Begin({.name = "add", .unit = "keys", .total = 10'000}, 0);
  uint64_t done = 0;
  int64_t now = 0;
  for (; now <= 10 * kSecond; now += kSecond) {
    done += 100;
    meter.Line({.done = done}, now, kWide);
  }
  // A hundred times slower from here on: soon nothing is left of the former rate.
  std::string line;
  for (; now <= 20 * kSecond; now += kSecond) line = LineAt(&meter, now, {.done = ++done});
  EXPECT_EQ(line, "add: 1 110 of 10 000 keys (11 %), 1.0/s, 2h28m left");
}

TEST(ProgressMeterTest, AStandstillHasNoRateAndNoTimeLeft) {
  ProgressMeter meter(0, {.window_us = 2 * kSecond});
  meter.Begin({.name = "add", .unit = "keys", .total = 10}, 0);
  for (int64_t now = kSecond; now < 6 * kSecond; now += kSecond)
    meter.Line({.done = 5}, now, kWide);
  EXPECT_EQ(LineAt(&meter, 6 * kSecond, {.done = 5}), "add: 5 of 10 keys (50 %)");
}

TEST(ProgressMeterTest, ALaterStepIsShownAtOnceAndBeginsItsOwnRate) {
  ProgressMeter meter(0, {});
  meter.Begin({.name = "diff: reading", .unit = "keys"}, 0);
  EXPECT_EQ(LineAt(&meter, 2 * kSecond, {.done = 2000}), "diff: reading: 2 000 keys, 1000/s");
  meter.Begin({.name = "diff: comparing", .unit = "keys"}, 2 * kSecond);
  EXPECT_EQ(LineAt(&meter, 2 * kSecond, {}), "diff: comparing: 0 keys");
  EXPECT_EQ(LineAt(&meter, 3 * kSecond, {.done = 7}), "diff: comparing: 7 keys, 7.0/s");
  meter.Begin({.name = "diff: closing"}, 3 * kSecond);
  EXPECT_EQ(LineAt(&meter, 3 * kSecond, {}), "diff: closing");
}

TEST(ProgressMeterTest, TheTotalIsCountedOnceAndOnlyForALine) {
  int counted = 0;
  ProgressMeter meter(0, {});
  meter.Begin({.name = "dump",
               .unit = "keys",
               .count_total =
                   [&counted] {
                     ++counted;
                     return uint64_t{40};
                   }},
              0);
  EXPECT_EQ(LineAt(&meter, kSecond / 2, {.done = 5}), "-");
  EXPECT_EQ(counted, 0);
  EXPECT_EQ(LineAt(&meter, kSecond, {.done = 10}), "dump: 10 of 40 keys (25 %), 10/s, 3s left");
  EXPECT_EQ(LineAt(&meter, 2 * kSecond, {.done = 20}), "dump: 20 of 40 keys (50 %), 10/s, 2s left");
  EXPECT_EQ(counted, 1);
}

TEST(ProgressMeterTest, WithoutADelayTheFirstLineIsDueAtOnce) {
  ProgressMeter meter(7 * kSecond, {.delay_us = 0});
  meter.Begin({.name = "load", .unit = "keys"}, 7 * kSecond);
  EXPECT_EQ(LineAt(&meter, 7 * kSecond, {}), "load: 0 keys");
}

TEST(ProgressMeterTest, ALineFitsTheTerminal) {
  ProgressMeter meter(0, {});
  meter.Begin({.name = "load", .unit = "keys"}, 0);
  EXPECT_EQ(meter.Line({.done = 1'000'000}, kSecond, 10).value_or("-"), "load: 1 00");
}

TEST(ProgressMeterTest, DigitsAreGrouped) {
  EXPECT_EQ(GroupedDigits(0), "0");
  EXPECT_EQ(GroupedDigits(999), "999");
  EXPECT_EQ(GroupedDigits(1000), "1 000");
  EXPECT_EQ(GroupedDigits(UINT64_MAX), "18 446 744 073 709 551 615");
}

}  // namespace
}  // namespace wqctl
