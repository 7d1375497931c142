// The last events of a key, for inspect --history.
#pragma once

#include <cstdint>
#include <string>

#include "tools/wqctl/cli/show.h"
#include "tools/wqctl/text/format.h"

namespace wqctl {

struct KeyHistoryArgs {
  std::string store_dir;
  std::string queue;
  std::string key;
  uint32_t limit = 100;
  Format format = Format::kTable;
  Show show;
};

// Prints them, from the process that serves the store, or else from its files. Returns the exit
// code.
int ShowHistory(const KeyHistoryArgs& args);

}  // namespace wqctl
