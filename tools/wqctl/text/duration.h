// Durations and points in time as text.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace wqctl {

// "1.5s", "5ms", "2m", "1h30m", "0"; units us, ms, s, m, h, d. nullopt for anything else: no unit,
// a sign, or more than wq::kMaxDelay.
std::optional<std::chrono::microseconds> ParseDuration(std::string_view text);

// For people, exact to the microsecond: "1h30m", "1s500ms", "250us".
std::string FormatDuration(std::chrono::microseconds duration);

// For tables: the two largest units, as kubectl shows ages: "3d4h", "12m5s", "7s".
std::string FormatAge(std::chrono::microseconds age);

// RFC 3339 in UTC with microseconds: "2024-01-31T12:00:00.000001Z". Outside of the years 0 to 9999,
// which only a damaged record or clock yields: "@" and the microseconds since 1970.
std::string FormatTime(int64_t wall_us);
// The inverse; the fraction may be shorter, or left out. nullopt for anything else.
std::optional<int64_t> ParseTime(std::string_view text);

}  // namespace wqctl
