// Turns the command line into a Command. Each verb's file parses the verb's own options; CLI11 is
// behind cli.h.
#pragma once

#include <sys/types.h>

#include <string>
#include <variant>
#include <vector>

#include "tools/wqctl/cli/command.h"

namespace wqctl {

// Returns the command to execute, or the exit code if there is nothing left to do (--help,
// --version, a usage error). `user_umask` is for the commands that the user runs.
std::variant<Command, int> ParseCommandLine(const std::vector<std::string>& words,
                                            mode_t user_umask);

// Parses and executes: the whole of wqctl, but for what main does to its process. Returns the exit
// code. `words` do not include the program's name.
int RunCommandLine(const std::vector<std::string>& words, mode_t user_umask);

}  // namespace wqctl
