// The Base64 form of bytes (wq/keys.h).

#include <absl/strings/escaping.h>

#include "wq/keys.h"

namespace wq {

std::string ToBase64(std::string_view bytes) {
  std::string text;
  absl::Base64Escape({bytes.data(), bytes.size()}, &text);
  return text;
}

std::optional<std::string> FromBase64(std::string_view text) {
  std::string bytes;
  if (!absl::Base64Unescape({text.data(), text.size()}, &bytes)) return std::nullopt;
  // Abseil also accepts spaces, other padding and nonzero unused bits: one value has one text here.
  return ToBase64(bytes) == text ? std::optional(std::move(bytes)) : std::nullopt;
}

}  // namespace wq
