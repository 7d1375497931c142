// Rates as text: "10", "0.5", "10/s", "100/m", "1000/h".
//
// A pure function.
#pragma once

#include <optional>
#include <string_view>

namespace wqctl {

// The number per second. nullopt: `text` is no such rate, or not from wq::kMinRate to wq::kMaxRate.
std::optional<double> ParseHandOutRate(std::string_view text);
inline constexpr const char* kHandOutRateTexts =
    "a rate such as 10/s, 0.5, 100/m or 1000/h, of at most a million per second";

}  // namespace wqctl
