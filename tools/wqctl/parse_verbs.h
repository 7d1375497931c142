// The command lines of the verbs, by family: one function a verb, each in the family's file. What
// they throw is in cli.h.
#pragma once

#include <optional>
#include <string>

#include "tools/wqctl/args.h"
#include "tools/wqctl/cli.h"

namespace wqctl {

// What all verbs start from.
struct Input {
  std::string store_dir;        // Of --store before the verb, or of the environment.
  Words words;                  // After the verb, before "--".
  std::optional<Words> behind;  // Behind "--".
};

// parse_work.cc: what puts keys in and works them off.
Command ParseInit(const Input& input);
Command ParseAdd(const Input& input);
Command ParseWork(const Input& input);

// parse_look.cc: what changes nothing.
Command ParseInspect(const Input& input);
Command ParseDump(const Input& input);
Command ParseQuarantineLs(const Input& input);
Command ParseCursorLs(const Input& input);
Command ParseCursorGet(const Input& input);

// parse_change.cc: what asks before.
Command ParseRm(const Input& input);
Command ParseCancelDelay(const Input& input);
Command ParseForget(const Input& input);
Command ParseQuarantineRelease(const Input& input);
Command ParseQuarantineDrop(const Input& input);
Command ParsePause(const Input& input);
Command ParseResume(const Input& input);

}  // namespace wqctl
