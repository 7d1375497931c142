// Bytes as hexadecimal text, for --hex. (Base64 is in wq/keys.h.)
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wqctl {

std::string ToHex(std::string_view bytes);  // Lower case.
std::optional<std::string> FromHex(std::string_view text);

}  // namespace wqctl
