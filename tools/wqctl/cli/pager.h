// A pager for long listings on a terminal.
//
//   if (auto pager = ChoosePager(settings.pager)) return Paged{command, *pager};
//
// The command runs in a child whose output goes to the pager. The parent ignores the terminal's
// signals until both have ended. Forks: must be called before any thread is started.
#pragma once

#include <optional>
#include <string>

#include "tools/wqctl/cli/command.h"

namespace wqctl {

struct Paged {
  Command command;
  std::string pager;
};

// Returns a shell command: `wanted`, or else PAGER, or else less. nullopt: no pager, for example
// because stdout is not a terminal.
std::optional<std::string> ChoosePager(const std::optional<std::string>& wanted);

// Returns the command's exit code.
int Run(const Paged& paged);

}  // namespace wqctl
