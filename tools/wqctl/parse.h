// The command line: from words to a Command. The verbs' own parts are in parse_*.cc, and CLI11 is
// behind cli.h.
#pragma once

#include <sys/types.h>

#include <string>
#include <variant>
#include <vector>

#include "tools/wqctl/cli/command.h"

namespace wqctl {

// What to execute; or, when all is said already (--help, --version, a usage error), the exit code.
// `user_umask` is for the commands that the user lets run.
std::variant<Command, int> ParseCommandLine(const std::vector<std::string>& words,
                                            mode_t user_umask);

}  // namespace wqctl
