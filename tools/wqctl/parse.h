// The command line, read with CLI11. The only file that includes it: it is slow to compile.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "tools/wqctl/args.h"

namespace wqctl {

// What to execute; or, when all is said already (--help, --version, a usage error), the exit code.
std::variant<Command, int> ParseCommandLine(const std::vector<std::string>& words);

}  // namespace wqctl
