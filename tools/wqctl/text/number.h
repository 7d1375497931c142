// ParseNumber: a decimal integer as text.
#pragma once

#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

namespace wqctl {

// nullopt: `text` is not an integer from kMin to kMax, or has other characters.
template <typename T, T kMin = std::numeric_limits<T>::min(),
          T kMax = std::numeric_limits<T>::max()>
std::optional<T> ParseNumber(std::string_view text) {
  T number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const bool valid = error == std::errc() && stop == end && number >= kMin && number <= kMax;
  return valid ? std::optional(number) : std::nullopt;
}

}  // namespace wqctl
