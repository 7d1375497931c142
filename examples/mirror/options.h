// The command line of mirror.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace mirror {

struct Options {
  std::string source;
  std::string target;
  std::string store;
  uint32_t workers = 4;
  bool once = false;
  bool rescan = false;
  std::chrono::milliseconds slack{2000};
};

// nullopt: the arguments are wrong, and stderr says how.
std::optional<Options> ParseOptions(int argc, char** argv);

// Absolute paths without links for all three; makes the target. Refuses directories of which one lies
// in another. The error, or empty.
std::string Resolve(Options* options);

}  // namespace mirror
