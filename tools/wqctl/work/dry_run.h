// DryRun: prints the commands that a run would begin, and changes nothing.
#pragma once

#include <string>
#include <vector>

#include "tools/wqctl/work/command_line.h"

namespace wqctl {

// Prints a line for each key that is pending or delayed, in the order in which they would be handed
// out, one queue after the other. Works beside an owner of the store. Returns the exit code.
int DryRun(const std::string& store_dir, const std::vector<std::string>& queues,
           const CommandLine& command);

}  // namespace wqctl
