#include "tools/wqctl/duration.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <system_error>

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

// Takes the longest prefix of `text` that is made of digits, or of anything else than digits.
std::string_view TakePrefix(std::string_view* text, bool digits) {
  const size_t end = digits ? text->find_first_not_of(kDigits) : text->find_first_of("0123456789.");
  const std::string_view prefix = text->substr(0, end);
  text->remove_prefix(prefix.size());
  return prefix;
}

std::optional<int64_t> ParseInteger(std::string_view digits) {
  int64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

// One "1.5h" off the front of `text`, in microseconds.
std::optional<int64_t> TakeTerm(std::string_view* text) {
  const std::string_view whole = TakePrefix(text, true);
  std::string_view fraction;
  if (text->starts_with('.')) {
    text->remove_prefix(1);
    fraction = TakePrefix(text, true);
    if (fraction.empty()) return std::nullopt;
  }
  const std::optional<int64_t> units = ParseInteger(whole);
  const std::string_view name = TakePrefix(text, false);
  if (!units) return std::nullopt;
  for (const Unit& unit : kUnits) {
    if (unit.name != name) continue;
    if (*units > wq::kMaxDelay.count() / unit.us) return std::nullopt;
    int64_t us = *units * unit.us;
    // Digit by digit: exact, and what is below a microsecond falls away.
    int64_t scale = unit.us;
    for (const char digit : fraction) {
      us += (digit - '0') * scale / 10;
      scale /= 10;
    }
    return us;
  }
  return std::nullopt;
}

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
  using namespace std::chrono;
  const sys_time<microseconds> instant{microseconds{wall_us}};
  const auto day = floor<days>(instant);
  const year_month_day date{day};
  const hh_mm_ss<microseconds> time{instant - day};
  std::array<char, 64> text{};
  const int n = std::snprintf(
      text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%06dZ",
      static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
      static_cast<unsigned>(date.day()), static_cast<int>(time.hours().count()),
      static_cast<int>(time.minutes().count()), static_cast<int>(time.seconds().count()),
      static_cast<int>(time.subseconds().count()));
  return {text.data(), static_cast<size_t>(n)};
}

}  // namespace wqctl
