#include "tools/wqctl/text/duration.h"

#include <array>

#include "absl/time/time.h"
#include "base/mutant.h"
#include "tools/wqctl/text/number.h"
#include "wq/options.h"

namespace wqctl {
namespace {

struct Unit {
  std::string_view name;
  int64_t us;
};

// Largest first.
constexpr std::array kUnits = {
    Unit{"d", 86'400'000'000}, Unit{"h", 3'600'000'000}, Unit{"m", 60'000'000},
    Unit{"s", 1'000'000},      Unit{"ms", 1'000},        Unit{"us", 1},
};

constexpr std::string_view kDigits = "0123456789";

// Takes the longest prefix of `text` of digits, or of other characters than digits and ".".
std::string_view TakePrefix(std::string_view* text, bool digits) {
  const size_t end = digits ? text->find_first_not_of(kDigits) : text->find_first_of("0123456789.");
  const std::string_view prefix = text->substr(0, end);
  text->remove_prefix(prefix.size());
  return prefix;
}

// Takes a term such as "1.5h" from the front of `text`. Returns microseconds.
std::optional<int64_t> TakeTerm(std::string_view* text) {
  const std::string_view whole = TakePrefix(text, true);
  std::string_view fraction;
  if (text->starts_with('.')) {
    text->remove_prefix(1);
    fraction = TakePrefix(text, true);
    if (fraction.empty()) return std::nullopt;
  }
  const std::optional<int64_t> units = ParseNumber<int64_t>(whole);
  const std::string_view name = TakePrefix(text, false);
  if (!units) return std::nullopt;
  for (const Unit& unit : kUnits) {
    if (unit.name != name) continue;
    if (*units > wq::kMaxDelay.count() / unit.us) return std::nullopt;
    int64_t us = *units * unit.us;
    // Digit by digit: exact. Fractions of a microsecond are dropped.
    int64_t scale = unit.us;
    for (const char digit : fraction) {
      us += WQ_MUTANT(fraction_is_dropped) ? 0 : (digit - '0') * scale / 10;
      scale /= 10;
    }
    return us;
  }
  return std::nullopt;
}

// 0000-01-01T00:00:00Z, and the last microsecond of the year 9999.
constexpr int64_t kFirstTimeUs = -62'167'219'200'000'000;
constexpr int64_t kLastTimeUs = 253'402'300'799'999'999;

std::string Count(int64_t n, std::string_view unit) { return std::to_string(n).append(unit); }

}  // namespace

std::optional<std::chrono::microseconds> ParseDuration(std::string_view text) {
  if (text == "0") return std::chrono::microseconds{0};
  if (text.empty()) return std::nullopt;
  int64_t total = 0;
  while (!text.empty()) {
    const std::optional<int64_t> term = TakeTerm(&text);
    if (!term) return std::nullopt;
    total += *term;
    if (total > wq::kMaxDelay.count()) return std::nullopt;
  }
  return std::chrono::microseconds{total};
}

std::string FormatDuration(std::chrono::microseconds duration) {
  int64_t us = duration.count();
  if (us < 0) return "-" + FormatDuration(-duration);
  if (us == 0) return "0s";
  std::string text;
  for (const Unit& unit : kUnits) {
    if (us >= unit.us) text += Count(us / unit.us, unit.name);
    us %= unit.us;
  }
  return text;
}

std::string FormatAge(std::chrono::microseconds age) {
  const int64_t us = age.count();
  if (us < 0) return "0s";
  for (size_t i = 0; i < 3; ++i) {
    const Unit& unit = kUnits[i];
    const Unit& next = kUnits[i + 1];
    if (us < unit.us) continue;
    const int64_t rest = us % unit.us / next.us;
    return Count(us / unit.us, unit.name) + (rest == 0 ? "" : Count(rest, next.name));
  }
  return Count(us / 1'000'000, "s");
}

std::string FormatTime(int64_t wall_us) {
  if (wall_us < kFirstTimeUs || wall_us > kLastTimeUs) return "@" + std::to_string(wall_us);
  return absl::FormatTime("%E4Y-%m-%dT%H:%M:%E6SZ", absl::FromUnixMicros(wall_us),
                          absl::UTCTimeZone());
}

std::optional<int64_t> ParseTime(std::string_view text) {
  if (text.starts_with('@')) {
    const std::optional<int64_t> us = ParseNumber<int64_t>(text.substr(1));
    // One spelling for each time.
    return us && FormatTime(*us) == text ? us : std::nullopt;
  }
  // As FormatTime writes it, but zeros at the end of the fraction, and all of it, may be missing.
  constexpr size_t kFractionEnd = std::string_view("2026-01-31T12:00:00.000000").size();
  std::string full(text);
  if (!full.ends_with('Z') || full.ends_with(".Z") || full.size() > kFractionEnd + 1) {
    return std::nullopt;
  }
  full.pop_back();
  if (full.find('.') == std::string::npos) full.push_back('.');
  full.resize(kFractionEnd, '0');
  full.push_back('Z');
  absl::Time time;
  if (!absl::ParseTime(absl::RFC3339_full, full, &time, nullptr)) return std::nullopt;
  const int64_t us = absl::ToUnixMicros(time);
  return FormatTime(us) == full ? std::optional(us) : std::nullopt;
}

}  // namespace wqctl
