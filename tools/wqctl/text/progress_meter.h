// ProgressMeter: when a line about progress is due, and its text. Pure: the caller gives the time.
//
//   ProgressMeter meter(now_us, {});
//   meter.Begin({.name = "load", .unit = "keys", .total = 5'000'000}, now_us);
//   if (meter.IsDue(now_us)) … meter.Line({.done = 1'234'567}, now_us, 80) …
//   // "load: 1 234 567 of 5 000 000 keys (24 %), 412 k/s, 9s left"
//
// The rate is that of the last seconds, not that since the beginning. Thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace wqctl {

// A step of a verb. Each step counts from 0.
struct ProgressStep {
  std::string name;            // "load"; "verify: checking files".
  std::string_view unit = {};  // "keys"; "bytes" are shown as KiB, MiB, …. Empty: no counts.
  uint64_t total = 0;          // 0: unknown.
  // Counts the total, when a line is shown for the first time; it may take long. nullptr: none.
  std::function<uint64_t()> count_total = nullptr;
};

struct ProgressCount {
  uint64_t done = 0;   // Units of the step.
  uint64_t part = 0;   // What has been read of `whole`, say in bytes of a file: gives the share and
  uint64_t whole = 0;  // the time that is left, if the step's total is unknown. 0: unknown, too.
};

class ProgressMeter {
 public:
  struct Times {
    int64_t delay_us = 1'000'000;   // From the beginning to the first line.
    int64_t interval_us = 200'000;  // Between two lines.
    int64_t window_us = 5'000'000;  // The rate is that of so much time.
  };

  ProgressMeter(int64_t now_us, const Times& times) : times_(times), begun_at_us_(now_us) {}

  // The delay is over for this step as well if it was over for the step before.
  void Begin(ProgressStep step, int64_t now_us);

  // Whether Line would do something. Cheap.
  bool IsDue(int64_t now_us) const { return now_us >= next_at_us_; }
  // The line, at most `columns` characters of ASCII. nullopt: none is to be shown yet. REQUIRES:
  // counts and times that do not decrease within a step.
  std::optional<std::string> Line(const ProgressCount& count, int64_t now_us, size_t columns);

 private:
  struct Sample {
    int64_t at_us = 0;
    ProgressCount count;
  };

  std::string Text(const ProgressCount& count) const;
  // Units a second in the window; nullopt: not known yet.
  std::optional<double> RateOf(uint64_t ProgressCount::*units) const;

  const Times times_;
  const int64_t begun_at_us_;
  ProgressStep step_;
  int64_t next_at_us_ = 0;
  std::deque<Sample> samples_;  // Of this step, of the window; the latest last.
};

// "1 234 567".
std::string GroupedDigits(uint64_t number);

}  // namespace wqctl
