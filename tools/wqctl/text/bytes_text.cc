#include "tools/wqctl/text/bytes_text.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "wq/keys.h"

namespace wqctl {

std::string ToHex(std::string_view bytes) {
  return absl::BytesToHexString({bytes.data(), bytes.size()});
}

std::optional<std::string> FromHex(std::string_view text) {
  if (text.size() % 2 != 0 || !std::all_of(text.begin(), text.end(), absl::ascii_isxdigit)) {
    return std::nullopt;
  }
  return absl::HexStringToBytes({text.data(), text.size()});
}

bool NeedsEscapes(std::string text) {
  std::erase(text, '\\');
  return wq::EscapeKey(text, text.size()) != text;
}

std::string FormatBytes(uint64_t bytes) {
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  auto value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  std::array<char, 32> text{};
  const int n = std::snprintf(text.data(), text.size(), "%.1f %s", value, kUnits[unit]);
  return {text.data(), static_cast<size_t>(n)};
}

}  // namespace wqctl
