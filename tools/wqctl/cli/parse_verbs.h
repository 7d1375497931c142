// The command lines of the verbs: one function for each verb. cli.h says what they throw.
//
// A new verb is one file in verbs/ with the struct of its arguments, its Parse… and its Run (see
// command.h), a line here, and a line in the table of parse.cc.
#pragma once

#include "tools/wqctl/cli/cli.h"
#include "tools/wqctl/cli/command.h"

namespace wqctl {

// In the order of the help.
Command ParseInit(const Input& input);
Command ParseAdd(const Input& input);
Command ParseSync(const Input& input);
Command ParseWork(const Input& input);
Command ParseServe(const Input& input);  // serve/serve.cc
Command ParseUi(const Input& input);     // serve/ui.cc
Command ParseWorkers(const Input& input);
Command ParseInspect(const Input& input);
Command ParseLs(const Input& input);
Command ParseErrors(const Input& input);
Command ParseDump(const Input& input);  // ls.cc
Command ParseLoad(const Input& input);
Command ParseWatch(const Input& input);  // watch/watch.cc
Command ParseVerify(const Input& input);
Command ParseRepair(const Input& input);  // verify.cc
Command ParseSnapshotCreate(const Input& input);
Command ParseSnapshotLs(const Input& input);
Command ParseSnapshotRestore(const Input& input);
// rm, delete, cancel-delay, requeue, forget, release, drop: Input::verb decides.
Command ParseKeyChange(const Input& input);
Command ParsePause(const Input& input);
Command ParseResume(const Input& input);       // pause.cc
Command ParseQueueDelete(const Input& input);  // pause.cc
// replication/replication.cc and replicas.cc
Command ParseReplicationStatus(const Input& input);
Command ParseReplicationInit(const Input& input);
Command ParseReplicationSeed(const Input& input);
Command ParseReplicationRemove(const Input& input);
Command ParseReplicationForget(const Input& input);
Command ParseReplicationDestroy(const Input& input);
Command ParsePromote(const Input& input);
Command ParseCompletion(const Input& input);  // completion.cc
Command ParseMan(const Input& input);         // man.cc

}  // namespace wqctl
