// The command line: from words to a Command. The verbs' own parts are in parse_*.cc, and CLI11 is
// behind cli.h.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "tools/wqctl/args.h"

namespace wqctl {

// What to execute; or, when all is said already (--help, --version, a usage error), the exit code.
std::variant<Command, int> ParseCommandLine(const std::vector<std::string>& words);

}  // namespace wqctl
