// Bytes as hexadecimal text, for --hex; whether a text can be shown; and sizes. (Base64 is in
// wq/keys.h.)
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace wqctl {

std::string ToHex(std::string_view bytes);  // Lower case.
std::optional<std::string> FromHex(std::string_view text);

// Whether the text has bytes that a terminal does not show as they are. A backslash is none of
// them: so a text that is escaped already has none.
bool NeedsEscapes(std::string text);

std::string FormatBytes(uint64_t bytes);  // "310.0 MiB".

}  // namespace wqctl
