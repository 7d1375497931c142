// Messages for people, on stderr: one line each, the level in colour on a terminal (terminal.h). A
// line about progress is erased before. Thread-safe.
//
// Escape text from keys, errors or the command line with wq::EscapeKey first.
#pragma once

#include <string>
#include <string_view>

namespace wqctl {

void LogInfo(std::string_view message);
void LogWarning(std::string_view message);
void LogError(std::string_view message);

// "No such file or directory"; strerror, thread-safe.
std::string ErrnoText(int error);

}  // namespace wqctl
