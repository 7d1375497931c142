// Base64 of RFC 4648, with padding.

#include <algorithm>
#include <array>
#include <cstdint>

#include "wq/keys.h"

namespace wq {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kNoDigit = 64;

constexpr std::array<uint8_t, 256> MakeDigits() {
  std::array<uint8_t, 256> digits = {};
  digits.fill(kNoDigit);
  for (size_t i = 0; i < kAlphabet.size(); ++i) {
    digits[static_cast<uint8_t>(kAlphabet[i])] = static_cast<uint8_t>(i);
  }
  return digits;
}
constexpr std::array<uint8_t, 256> kDigits = MakeDigits();

}  // namespace

std::string ToBase64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t n = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8 | (j < n ? static_cast<uint8_t>(bytes[i + j]) : 0U);
    }
    for (size_t j = 0; j < 4; ++j) {
      text.push_back(j <= n ? kAlphabet[group >> (18 - 6 * j) & 0x3F] : '=');
    }
  }
  return text;
}

std::optional<std::string> FromBase64(std::string_view text) {
  if (text.size() % 4 != 0) {
    return std::nullopt;
  }
  const size_t end = text.find('=');
  const std::string_view digits = text.substr(0, end);
  const size_t padding = text.size() - digits.size();
  if (padding > 2 || text.find_first_not_of('=', digits.size()) != std::string_view::npos) {
    return std::nullopt;
  }
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  uint32_t bits = 0;
  int have = 0;
  for (const char c : digits) {
    const uint8_t digit = kDigits[static_cast<uint8_t>(c)];
    if (digit == kNoDigit) {
      return std::nullopt;
    }
    bits = bits << 6 | digit;
    have += 6;
    if (have >= 8) {
      have -= 8;
      bytes.push_back(static_cast<char>(bits >> have & 0xFF));
    }
  }
  // One text for one value: bits that are left over are zero.
  return (bits & ((1U << have) - 1)) == 0 ? std::optional(std::move(bytes)) : std::nullopt;
}

}  // namespace wq
