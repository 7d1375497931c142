#include "tools/wqctl/text/bytes_text.h"

#include <array>
#include <cstdint>
#include <cstdio>

#include "wq/keys.h"

namespace wqctl {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

// nullopt: not a digit.
std::optional<uint32_t> HexDigit(char c) {
  if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  const size_t value = kHex.find(c);
  if (value == std::string_view::npos) return std::nullopt;
  return static_cast<uint32_t>(value);
}

}  // namespace

std::string ToHex(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    text.push_back(kHex[static_cast<uint8_t>(c) >> 4]);
    text.push_back(kHex[static_cast<uint8_t>(c) & 0xF]);
  }
  return text;
}

std::optional<std::string> FromHex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 2);
  for (size_t i = 0; i < text.size(); i += 2) {
    const std::optional<uint32_t> high = HexDigit(text[i]);
    const std::optional<uint32_t> low = HexDigit(text[i + 1]);
    if (!high || !low) return std::nullopt;
    bytes.push_back(static_cast<char>(*high << 4 | *low));
  }
  return bytes;
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
