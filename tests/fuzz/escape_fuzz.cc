// Fuzz target: keys as text. Any bytes become one line of valid UTF-8 without a control character,
// and two different keys have different texts.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "wq/keys.h"

namespace {

// The inverse of wq::EscapeKey, for text that is not shortened.
std::string Unescape(std::string_view text) {
  const auto digit = [](char c) {
    return static_cast<uint32_t>(c <= '9' ? c - '0' : c - 'a' + 10);
  };
  std::string bytes;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\') {
      bytes += text[at];
      continue;
    }
    const char kind = text[++at];
    if (kind == 'n') bytes += '\n';
    if (kind == 't') bytes += '\t';
    if (kind == '\\') bytes += '\\';
    if (kind == 'x') {
      bytes += static_cast<char>(digit(text[at + 1]) << 4 | digit(text[at + 2]));
      at += 2;
    }
    if (kind == 'u') {
      uint32_t code = 0;
      for (at += 2; text[at] != '}'; ++at) code = code << 4 | digit(text[at]);
      if (code < 0x800) {
        bytes += static_cast<char>(0xC0 | code >> 6);
      } else if (code < 0x10000) {
        bytes += static_cast<char>(0xE0 | code >> 12);
      } else {
        bytes += static_cast<char>(0xF0 | code >> 18);
        bytes += static_cast<char>(0x80 | (code >> 12 & 0x3F));
      }
      if (code >= 0x800) bytes += static_cast<char>(0x80 | (code >> 6 & 0x3F));
      bytes += static_cast<char>(0x80 | (code & 0x3F));
    }
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view key(reinterpret_cast<const char*>(data), size);
  const std::string text = wq::EscapeKey(key, size + 1);
  WQ_CHECK(wq::IsValidUtf8(text), "not UTF-8");
  for (const char c : text) {
    WQ_CHECK(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F, "a control character");
  }
  WQ_CHECK(Unescape(text) == key, "not the same bytes again");
  const std::string shown = wq::EscapeKey(key, 16);
  WQ_CHECK(wq::IsValidUtf8(shown) && shown.size() <= 16 * 10 + 3, "a short form that is too long");
  return 0;
}
