#include "tools/wqctl/cli/rate.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <system_error>

#include "wq/options.h"

namespace wqctl {
namespace {

constexpr double kSecondsPerMinute = 60;
constexpr double kSecondsPerHour = 3600;
constexpr double kRounding = 1e-9;

bool TakeSuffix(std::string_view suffix, std::string_view* text) {
  if (!text->ends_with(suffix)) return false;
  text->remove_suffix(suffix.size());
  return true;
}

// The number per second, whatever its range.
std::optional<double> ParsePerSecond(std::string_view text) {
  double seconds = 1;
  if (TakeSuffix("/m", &text)) {
    seconds = kSecondsPerMinute;
  } else if (TakeSuffix("/h", &text)) {
    seconds = kSecondsPerHour;
  } else {
    TakeSuffix("/s", &text);
  }
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number / seconds;
}

}  // namespace

std::optional<double> ParseHandOutRate(std::string_view text) {
  const std::optional<double> per_second = ParsePerSecond(text);
  return per_second && *per_second >= wq::kMinRate && *per_second <= wq::kMaxRate ? per_second
                                                                                  : std::nullopt;
}

std::string FormatPerSecond(double per_second) {
  struct Unit {
    const char* name;
    double seconds;
  };
  constexpr std::array kUnits = {Unit{"/s", 1}, Unit{"/m", kSecondsPerMinute},
                                 Unit{"/h", kSecondsPerHour}};
  const Unit* unit = nullptr;
  for (const Unit& each : kUnits) {
    const double number = per_second * each.seconds;
    const bool whole = number >= 1 && std::abs(number - std::round(number)) < kRounding * number;
    if (whole || (unit == nullptr && number >= 1)) unit = &each;
    if (whole) break;
  }
  if (unit == nullptr) unit = &kUnits.back();
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.7g%s", per_second * unit->seconds, unit->name);
  return text.data();
}

}  // namespace wqctl
