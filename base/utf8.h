// CutUtf8: the first bytes of a text.
#pragma once

#include <cstddef>
#include <string_view>

namespace wq {

// At most `max_bytes` of `text`, not ending inside a sequence of UTF-8.
inline std::string_view CutUtf8(std::string_view text, size_t max_bytes) noexcept {
  if (text.size() <= max_bytes) {
    return text;
  }
  while (max_bytes > 0 && (static_cast<unsigned char>(text[max_bytes]) & 0xC0U) == 0x80U) {
    --max_bytes;
  }
  return {text.data(), max_bytes};
}

}  // namespace wq
