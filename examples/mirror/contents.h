// Compares and copies the contents of open files, and reads links. A call returns false early when
// `stop` is requested. Thread-safe.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

namespace mirror {

// Compares from the files' present offsets to their ends.
bool HasSameContents(int one, int other, const std::stop_token& stop);
// Copies `in` from its beginning to its end. False without a stop: errno has the error.
bool CopyContents(int in, int out, const std::stop_token& stop);

// Returns the link's target. nullopt: errno has the error.
std::optional<std::string> ReadLink(int directory, const std::string& name);

}  // namespace mirror
