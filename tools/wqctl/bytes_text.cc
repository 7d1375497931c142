#include "tools/wqctl/bytes_text.h"

#include <algorithm>
#include <cstdint>

#include "tools/wqctl/cli.h"

namespace wqctl {
namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kHex = "0123456789abcdef";

// nullopt: no digit.
std::optional<uint32_t> HexDigit(char c) {
  if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  const size_t value = kHex.find(c);
  if (value == std::string_view::npos) return std::nullopt;
  return static_cast<uint32_t>(value);
}

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
      text.push_back(j <= n ? kBase64[group >> (18 - 6 * j) & 0x3F] : '=');
    }
  }
  return text;
}

std::optional<std::string> FromBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    uint32_t group = 0;
    size_t digits = 0;
    for (; digits < 4 && text[i + digits] != '='; ++digits) {
      const size_t value = kBase64.find(text[i + digits]);
      if (value == std::string_view::npos) return std::nullopt;
      group = group << 6 | static_cast<uint32_t>(value);
    }
    group <<= 6 * (4 - digits);
    for (size_t j = 0; j + 1 < digits; ++j) {
      bytes.push_back(static_cast<char>(group >> (16 - 8 * j) & 0xFF));
    }
  }
  // What is not the text of these bytes has padding in a wrong place, or bits behind the end.
  if (ToBase64(bytes) != text) return std::nullopt;
  return bytes;
}

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

std::string KeyOfHex(std::string_view text) {
  std::optional<std::string> bytes = FromHex(text);
  if (!bytes) Usage("\"" + std::string(text.substr(0, 100)) + "\" is not hexadecimal");
  return *std::move(bytes);
}

}  // namespace wqctl
