#include "tools/wqctl/text/progress_meter.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace wqctl {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr size_t kWide = 200;
constexpr uint64_t kGiB = uint64_t{1} << 30;

// A count at a time, and the line that is shown then; "-": none.
struct Look {
  double seconds;
  ProgressCount count;
  std::string line;
};

void Expect(ProgressMeter* meter, const std::vector<Look>& looks) {
  for (const auto& [seconds, count, line] : looks) {
    const auto now_us = static_cast<int64_t>(seconds * kSecond);
    EXPECT_EQ(meter->Line(count, now_us, kWide).value_or("-"), line) << seconds << " s";
  }
}

TEST(ProgressMeterTest, ALineHasTheShareTheRateAndTheTimeThatIsLeft) {
  struct Case {
    std::string unit;
    uint64_t total;  // 0: not known.
    std::vector<Look> looks;
  };
  for (const Case& each : std::vector<Case>{
           // Nothing in the first second.
           {"keys",
            0,
            {{0, {}, "-"}, {.5, {50}, "-"}, {.999, {99}, "-"}, {1.5, {150}, "x: 150 keys, 100/s"}}},
           {"keys",
            5'000'000,
            {{3, {1'234'567}, "x: 1 234 567 of 5 000 000 keys (24 %), 412 k/s, 10s left"}}},
           {"rows", 100, {{1, {101}, "x: 101 rows, 101/s"}}},  // The total was an estimate.
           {"bytes", 5 * kGiB, {{2, {kGiB}, "x: 1.0 GiB of 5.0 GiB (20 %), 512.0 MiB/s, 8s left"}}},
           {"keys", 0, {{4, {1}, "x: 1 keys, 0.2/s"}}},
           {"keys", 0, {{10, {99}, "x: 99 keys, 9.9/s"}}},
           {"keys", 0, {{1, {9'949}, "x: 9 949 keys, 9949/s"}}},
           {"keys", 0, {{1, {9'950}, "x: 9 950 keys, 10 k/s"}}},
           {"keys", 0, {{1, {999'499}, "x: 999 499 keys, 999 k/s"}}},
           {"keys", 0, {{1, {999'500}, "x: 999 500 keys, 1.0 M/s"}}},
           {"keys", 0, {{1, {12'340'000}, "x: 12 340 000 keys, 12.3 M/s"}}},
           // The part of a file gives them, too.
           {"keys",
            0,
            {{2, {300, 1000, 4000}, "x: 300 keys (25 %), 150/s, 6s left"},
             {4, {500, 4000, 4000}, "x: 500 keys (100 %), 125/s, 0s left"}}}}) {
    ProgressMeter meter(0, {});
    meter.Begin({.name = "x", .unit = each.unit, .total = each.total}, 0);
    Expect(&meter, each.looks);
  }
}

TEST(ProgressMeterTest, AtMostFiveLinesASecondWhichFitTheTerminal) {
  ProgressMeter meter(0, {});
  meter.Begin({.name = "load", .unit = "keys"}, 0);
  int lines = 0;
  for (int64_t now = 0; now < 3 * kSecond; now += 1000) {
    const bool due = meter.IsDue(now);
    const auto line = meter.Line({.done = static_cast<uint64_t>(now)}, now, 10);
    EXPECT_TRUE(due || !line);
    EXPECT_LE(line.value_or("").size(), 10U);
    lines += line ? 1 : 0;
  }
  EXPECT_EQ(lines, 10);
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
  for (; now <= 20 * kSecond; now += kSecond) {
    line = meter.Line({.done = ++done}, now, kWide).value_or("-");
  }
  EXPECT_EQ(line, "add: 1 110 of 10 000 keys (11 %), 1.0/s, 2h28m left");
  for (; now <= 27 * kSecond; now += kSecond) {
    line = meter.Line({.done = done}, now, kWide).value_or("-");
  }
  EXPECT_EQ(line, "add: 1 110 of 10 000 keys (11 %)") << "a standstill";
}

TEST(ProgressMeterTest, ALaterStepIsShownAtOnceAndBeginsItsOwnRate) {
  ProgressMeter meter(0, {});
  meter.Begin({.name = "load: reading", .unit = "keys"}, 0);
  Expect(&meter, {{2, {2000}, "load: reading: 2 000 keys, 1000/s"}});
  meter.Begin({.name = "load: adding", .unit = "keys"}, 2 * kSecond);
  Expect(&meter, {{2, {}, "load: adding: 0 keys"}, {3, {7}, "load: adding: 7 keys, 7.0/s"}});
  meter.Begin({.name = "load: closing"}, 3 * kSecond);
  Expect(&meter, {{3, {}, "load: closing"}});
  ProgressMeter at_once(7 * kSecond, {.delay_us = 0});
  at_once.Begin({.name = "load", .unit = "keys"}, 7 * kSecond);
  Expect(&at_once, {{7, {}, "load: 0 keys"}});
}

TEST(ProgressMeterTest, TheTotalIsCountedOnceAndOnlyForALine) {
  int counted = 0;
  ProgressMeter meter(0, {});
  const auto count_total = [&counted] {
    ++counted;
    return uint64_t{40};
  };
  meter.Begin({.name = "dump", .unit = "keys", .count_total = count_total}, 0);
  Expect(&meter, {{.5, {5}, "-"}});
  EXPECT_EQ(counted, 0);
  Expect(&meter, {{1, {10}, "dump: 10 of 40 keys (25 %), 10/s, 3s left"},
                  {2, {20}, "dump: 20 of 40 keys (50 %), 10/s, 2s left"}});
  EXPECT_EQ(counted, 1);
}

TEST(ProgressMeterTest, DigitsAreGrouped) {
  EXPECT_EQ(GroupedDigits(999), "999");
  EXPECT_EQ(GroupedDigits(UINT64_MAX), "18 446 744 073 709 551 615");
}

}  // namespace
}  // namespace wqctl
