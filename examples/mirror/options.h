// The command line of mirror.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace mirror {

struct Options {
  std::string source;
  std::string target;
  std::string store;     // The directory of the queue.
  uint32_t workers = 4;  // Paths that are reconciled at once.
  bool once = false;     // Exit when the target is equal.
  bool rescan = false;   // Forget what was seen: compare everything.
};

// Parses the arguments. nullopt: they are invalid, and the usage is on stderr.
std::optional<Options> ParseOptions(int argc, char** argv);

// Makes the three paths absolute and free of links, and creates the target. Refuses a directory
// inside another of the three. Returns the error, or "".
std::string Resolve(Options* options);

}  // namespace mirror
