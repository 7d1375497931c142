// What a terminal is used for: colours and moves of the cursor, by one rule for every verb.
//
//   SetColour(When::kAlways);                                      // --color, once, at the start.
//   if (WantsColour(STDOUT_FILENO)) text = "\x1b[1m" + text + kPlain;
//
// Thread-safe, except SetColour.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace wqctl {

// "auto", "always", "never".
enum class When : uint8_t { kAuto, kAlways, kNever };
std::optional<When> ParseWhen(std::string_view text);

inline constexpr std::string_view kBold = "\x1b[1m";
inline constexpr std::string_view kYellow = "\x1b[33m";
inline constexpr std::string_view kRed = "\x1b[31m";
inline constexpr std::string_view kPlain = "\x1b[0m";

// Before any thread is started, and before the first message.
void SetColour(When when);
// kAuto: if `fd` is a terminal that understands escapes, and NO_COLOR is not set.
bool WantsColour(int fd);

// Whether stdout is a terminal.
bool OnTerminal();

// Whether `fd` is a terminal that understands escapes: TERM is set, and is not "dumb".
bool IsScreen(int fd);
// 80 if it is not known.
size_t ColumnsOf(int fd);

}  // namespace wqctl
