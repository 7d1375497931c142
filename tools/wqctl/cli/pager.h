// A pager for long listings on a terminal.
//
//   if (std::optional<std::string> pager = ChoosePager(settings.pager)) return Paged{command, *pager};
//
// The command runs in a child whose output goes to the pager; so the terminal is the pager's until it
// ends, whatever signals the terminal sends. Before there are threads.
#pragma once

#include <optional>
#include <string>

#include "tools/wqctl/cli/command.h"

namespace wqctl {

struct Paged {
  Command command;
  std::string pager;
};

// A shell command; nullopt: none, as when stdout is no terminal. `wanted` is the user's, if he has one;
// else it is PAGER, or else less.
std::optional<std::string> ChoosePager(const std::optional<std::string>& wanted);

// The command's exit code.
int Run(const Paged& paged);

}  // namespace wqctl
