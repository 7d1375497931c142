// Bytes as text: base64 for JSON, hexadecimal for --hex.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wqctl {

std::string ToBase64(std::string_view bytes);
// Canonical only: padded, and without bits that nobody would see. nullopt for anything else.
std::optional<std::string> FromBase64(std::string_view text);

std::string ToHex(std::string_view bytes);  // Lower case.
std::optional<std::string> FromHex(std::string_view text);
// For the command line. Throws UsageError.
std::string KeyOfHex(std::string_view text);

}  // namespace wqctl
