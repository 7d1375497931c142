#include "tools/wqctl/text/bytes_text.h"

#include <cstdint>

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

}  // namespace wqctl
