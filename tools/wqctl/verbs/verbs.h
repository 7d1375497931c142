// The verbs. Each one does what its arguments say and returns the exit code.
#pragma once

#include "tools/wqctl/cli/args.h"

namespace wqctl {

int Run(const InitArgs& args);
int Run(const AddArgs& args);
int Run(const WorkArgs& args);
int Run(const CursorLsArgs& args);
int Run(const CursorGetArgs& args);
struct KeyChangeArgs;  // key_change.h.
int Run(const KeyChangeArgs& args);
int Run(const PauseArgs& args);
int Run(const ResumeArgs& args);

}  // namespace wqctl
