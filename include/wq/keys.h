// Text forms of keys and lanes, for messages, logs, terminals and JSON.
//
//   std::cerr << "reconciling " << wq::EscapeKey(key) << "\n";
//   std::string json = wq::IsValidUtf8(key) ? Quote(key) : wq::ToBase64(key);
//   std::optional<wq::Lane> lane = wq::ParseLane("slow");
//
// Threading: thread-safe; pure functions. Lifetime: what they return is the caller's. A crash: does
// not concern them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "wq/options.h"

namespace wq {

// Escapes `bytes` for one line of a terminal or a log: valid, printable UTF-8 stays; control
// characters, bidirectional overrides, line separators, backslashes and bytes that are not UTF-8
// become \n, \t, \\, \xHH or \u{HHHH}. Shows at most `max_bytes` of the input, then "…".
std::string EscapeKey(std::string_view bytes, size_t max_bytes = 256);

// Checks whether `bytes` is well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms).
bool IsValidUtf8(std::string_view bytes);

// Encodes as Base64 of RFC 4648, with padding: how JSON carries bytes that are not UTF-8.
std::string ToBase64(std::string_view bytes);
// Decodes what ToBase64 returns; nullopt for anything else.
std::optional<std::string> FromBase64(std::string_view text);

// Returns "fast", "slow", or the number.
std::string LaneName(Lane lane);
// Parses a lane's name or number; nullopt for what is neither a name nor a 32-bit integer.
std::optional<Lane> ParseLane(std::string_view text);

}  // namespace wq
