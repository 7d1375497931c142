#include "tools/wqctl/text/duration.h"

#include <array>
#include <cstdio>

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

// Takes `count` digits and then the character `mark`; nullopt if the text does not begin with them.
std::optional<int> TakeDigits(std::string_view* text, size_t count, char mark) {
  if (text->size() <= count || (*text)[count] != mark) return std::nullopt;
  const std::string_view digits = text->substr(0, count);
  if (digits.find_first_not_of(kDigits) != std::string_view::npos) return std::nullopt;
  text->remove_prefix(count + 1);
  const std::optional<int64_t> value = ParseNumber<int64_t>(digits);
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

// "Z", or ".5Z" with up to six digits.
std::optional<int64_t> TakeFraction(std::string_view text) {
  if (text == "Z") return 0;
  if (text.size() < 3 || text.size() > 8 || text.front() != '.' || text.back() != 'Z') {
    return std::nullopt;
  }
  std::string digits(text.substr(1, text.size() - 2));
  if (digits.find_first_not_of(kDigits) != std::string::npos) return std::nullopt;
  digits.resize(6, '0');
  return ParseNumber<int64_t>(digits);
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
  if (wall_us < kFirstTimeUs || wall_us > kLastTimeUs) return "@" + std::to_string(wall_us);
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

std::optional<int64_t> ParseTime(std::string_view text) {
  using namespace std::chrono;
  if (text.starts_with('@')) {
    const std::optional<int64_t> us = ParseNumber<int64_t>(text.substr(1));
    // One spelling for each time.
    return us && FormatTime(*us) == text ? us : std::nullopt;
  }
  const auto years = TakeDigits(&text, 4, '-');
  const auto months = years ? TakeDigits(&text, 2, '-') : std::nullopt;
  const auto days_of_month = months ? TakeDigits(&text, 2, 'T') : std::nullopt;
  const auto hour = days_of_month ? TakeDigits(&text, 2, ':') : std::nullopt;
  const auto minute = hour ? TakeDigits(&text, 2, ':') : std::nullopt;
  if (!minute || text.size() < 3) return std::nullopt;
  const std::optional<int64_t> second = ParseNumber<int64_t>(text.substr(0, 2));
  const std::optional<int64_t> fraction = TakeFraction(text.substr(2));
  if (!second || *second < 0 || !fraction || *hour > 23 || *minute > 59 || *second > 59) {
    return std::nullopt;
  }
  const year_month_day date{year{*years}, month{static_cast<unsigned>(*months)},
                            day{static_cast<unsigned>(*days_of_month)}};
  if (!date.ok()) return std::nullopt;
  const microseconds since = sys_days{date}.time_since_epoch();
  return since.count() + ((*hour * 60 + *minute) * int64_t{60} + *second) * 1'000'000 + *fraction;
}

}  // namespace wqctl
