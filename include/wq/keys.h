// Text forms of keys and lanes, for messages, logs, terminals and JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "wq/options.h"

namespace wq {

// `bytes` made safe for one line of a terminal or a log: valid, printable UTF-8 stays; control
// characters, bidirectional overrides, line separators, backslashes and bytes that are not UTF-8
// become \n, \t, \\, \xHH or \u{HHHH}. At most `max_bytes` of input are shown, then "…".
std::string EscapeKey(std::string_view bytes, size_t max_bytes = 256);

// Whether `bytes` is well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms).
bool IsValidUtf8(std::string_view bytes);

// Base64 of RFC 4648, with padding: how JSON carries bytes that are not UTF-8.
std::string ToBase64(std::string_view bytes);
// The inverse; nullopt for what ToBase64 does not return.
std::optional<std::string> FromBase64(std::string_view text);

// "fast", "slow", or the number.
std::string LaneName(Lane lane);
// The inverse; nullopt for what is neither a name nor a 32-bit integer.
std::optional<Lane> ParseLane(std::string_view text);

}  // namespace wq
