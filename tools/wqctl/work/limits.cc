#include "tools/wqctl/work/limits.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "tools/wqctl/cli/rate.h"
#include "tools/wqctl/text/number.h"

namespace wqctl {
namespace {

constexpr int kMaxPercent = 100'000;
constexpr double kMicrosecondsPerSecond = 1e6;
constexpr double kMinStartsPerSecond = 1.0 / 86'400;

// Removes `prefix` from *text if it is there.
bool TakePrefix(std::string_view prefix, std::string_view* text) {
  if (!text->starts_with(prefix)) return false;
  text->remove_prefix(prefix.size());
  return true;
}

bool TakeSuffix(std::string_view suffix, std::string_view* text) {
  if (!text->ends_with(suffix)) return false;
  text->remove_suffix(suffix.size());
  return true;
}

std::optional<Halt> ParseShortHalt(std::string_view text) {
  using When = Halt::When;
  using Why = Halt::Why;
  if (text == "0" || text == "never") return Halt{};
  if (text == "1") return Halt{When::kSoon, Why::kFail, 1, false};
  if (text == "2") return Halt{When::kNow, Why::kFail, 1, false};
  if (text == "-1") return Halt{When::kSoon, Why::kSuccess, 1, false};
  if (text == "-2") return Halt{When::kNow, Why::kSuccess, 1, false};
  if (!TakeSuffix("%", &text)) return std::nullopt;
  const auto number = ParseNumber<uint64_t, 1, 100>(text);
  if (!number) return std::nullopt;
  return Halt{When::kSoon, Why::kFail, *number, true};
}

}  // namespace

int Workers::CountFor(int cpus) const {
  int64_t count = number;
  if (kind == Kind::kMorePerMachine) count = int64_t{cpus} + number;
  if (kind == Kind::kPercent) count = int64_t{cpus} * number / 100;
  return static_cast<int>(std::clamp<int64_t>(count, 1, kMaxWorkers));
}

std::optional<Workers> ParseWorkers(std::string_view text) {
  using Kind = Workers::Kind;
  if (text == "0") return Workers{Kind::kCount, kMaxWorkers};
  std::string_view rest = text;
  std::optional<int> number;
  Kind kind = Kind::kCount;
  if (TakeSuffix("%", &rest)) {
    kind = Kind::kPercent;
    number = ParseNumber<int, 1, kMaxPercent>(rest);
  } else if (TakePrefix("+", &rest)) {
    kind = Kind::kMorePerMachine;
    number = ParseNumber<int, 0, kMaxWorkers>(rest);
  } else if (text.starts_with('-')) {
    kind = Kind::kMorePerMachine;
    number = ParseNumber<int, -kMaxWorkers, 0>(text);
  } else {
    number = ParseNumber<int, 1, kMaxWorkers>(text);
  }
  if (!number) return std::nullopt;
  return Workers{kind, *number};
}

int UsableCpus() {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  const int count = sched_getaffinity(0, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) : 0;
  // The call fails on machines with more CPUs than cpu_set_t holds.
  return std::max(1, count > 0 ? count : static_cast<int>(std::thread::hardware_concurrency()));
}

std::optional<Rate> ParseRate(std::string_view text) {
  const std::optional<double> per_second = ParsePerSecond(text);
  if (!per_second ||
      !(*per_second >= kMinStartsPerSecond && *per_second <= kMicrosecondsPerSecond)) {
    return std::nullopt;
  }
  return Rate{std::chrono::microseconds(std::llround(kMicrosecondsPerSecond / *per_second))};
}

bool Halt::Reached(uint64_t succeeded, uint64_t failed, uint64_t keys_at_start) const {
  if (when == When::kNever) return false;
  const uint64_t count = why == Why::kFail      ? failed
                         : why == Why::kSuccess ? succeeded
                                                : succeeded + failed;
  if (!percent) return count >= number;
  return count > 0 && static_cast<double>(count) * 100 >=
                          static_cast<double>(number) * static_cast<double>(keys_at_start);
}

std::optional<Halt> ParseHalt(std::string_view text) {
  if (const std::optional<Halt> halt = ParseShortHalt(text)) return halt;
  Halt halt;
  if (TakePrefix("soon,", &text)) {
    halt.when = Halt::When::kSoon;
  } else if (TakePrefix("now,", &text)) {
    halt.when = Halt::When::kNow;
  } else {
    return std::nullopt;
  }
  if (TakePrefix("fail=", &text)) {
    halt.why = Halt::Why::kFail;
  } else if (TakePrefix("success=", &text)) {
    halt.why = Halt::Why::kSuccess;
  } else if (TakePrefix("done=", &text)) {
    halt.why = Halt::Why::kDone;
  } else {
    return std::nullopt;
  }
  halt.percent = TakeSuffix("%", &text);
  const auto number =
      halt.percent ? ParseNumber<uint64_t, 1, 100>(text) : ParseNumber<uint64_t, 1>(text);
  if (!number) return std::nullopt;
  halt.number = *number;
  return halt;
}

}  // namespace wqctl
