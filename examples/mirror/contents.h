// The contents of open files, and of links. What takes long ends early, with false, when `stop` is
// requested. Thread-safe.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

namespace mirror {

// From where the files stand to their ends.
bool HasSameContents(int one, int other, const std::stop_token& stop);
// From the beginning of `in` to its end. False without a stop: errno says why.
bool CopyContents(int in, int out, const std::stop_token& stop);

// nullopt: errno says why.
std::optional<std::string> ReadLink(int directory, const std::string& name);

}  // namespace mirror
