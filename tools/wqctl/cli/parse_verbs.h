// The command lines of the verbs: one function a verb. What they throw is in cli.h.
//
// A new verb is one file, with its arguments, its Parse… and its Run (see command.h); a line here,
// and a line in the table of parse.cc.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "tools/wqctl/cli/cli.h"
#include "tools/wqctl/cli/command.h"

namespace wqctl {

// What all verbs start from.
struct Input {
  std::string store_dir;        // Of --store before the verb, or of the environment.
  Words words;                  // After the verb, before "--".
  std::optional<Words> behind;  // Behind "--".
  mode_t user_umask = 022;      // The user's own, since wqctl's is stricter.
};

// parse_work.cc: what puts keys in and works them off.
Command ParseInit(const Input& input);
Command ParseAdd(const Input& input);
Command ParseWork(const Input& input);

Command ParseInspect(const Input& input);  // inspect.cc

// parse_look.cc: what changes nothing.
Command ParseCursorLs(const Input& input);
Command ParseCursorGet(const Input& input);

// ls.cc
Command ParseLs(const Input& input);
Command ParseQuarantineLs(const Input& input);

Command ParseDump(const Input& input);  // dump.cc
Command ParseLoad(const Input& input);  // load.cc
Command ParseDiff(const Input& input);  // diff.cc

Command ParseReport(const Input& input);  // report.cc

// watch.cc
Command ParseWatch(const Input& input);
Command ParseTop(const Input& input);

// parse_change.cc: what asks before.
Command ParseRm(const Input& input);
Command ParseCancelDelay(const Input& input);
Command ParseRequeue(const Input& input);
Command ParseForget(const Input& input);
Command ParseQuarantineRelease(const Input& input);
Command ParseQuarantineDrop(const Input& input);
Command ParsePause(const Input& input);
Command ParseResume(const Input& input);

// verify.cc.
Command ParseVerify(const Input& input);

// snapshot.cc
Command ParseSnapshotCreate(const Input& input);
Command ParseSnapshotLs(const Input& input);
Command ParseSnapshotVerify(const Input& input);
Command ParseSnapshotRestore(const Input& input);

Command ParseCompletion(const Input& input);  // completion.cc
Command ParseMan(const Input& input);         // man.cc

// repair.cc.
Command ParseRepair(const Input& input);

}  // namespace wqctl
