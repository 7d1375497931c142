// Spawn: starts a program by clone, as vfork does, and execve.
//
// Not posix_spawn: the child must become a subreaper, and its pidfd be known before it runs.
// Thread-safe.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace wqctl {

struct SpawnRequest {
  std::string path;               // Of the program, as FindProgram gave it.
  std::vector<std::string> argv;  // No NUL bytes within.
  std::vector<std::string>
      environment;                 // "NAME=value": added to ours without `unset`. No NUL bytes.
  std::vector<std::string> unset;  // Names of ours that the child does not get.
  int stdin_fd = -1;
  int stdout_fd = -1;
  int stderr_fd = -1;
  sigset_t signal_mask = {};  // Of the child.
  mode_t umask = 0;           // Of the child.
};

// The child leads its own session, so that Ctrl-C at the terminal does not reach it and the
// terminal cannot stop it. It adopts the orphans among its descendants (PR_SET_CHILD_SUBREAPER), as
// the first process of a container does: so all that it starts is below it while it runs. Returns
// 0, the pid, and a pidfd, which *pid_fd has before the child runs; or the errno of the failed
// call: then there is no child, and *pid_fd is -1.
int Spawn(const SpawnRequest& request, pid_t* pid, int* pid_fd);

// Whether such an error is one of descriptors, processes or memory, and may pass.
bool IsLackOfResources(int error);

// Finds `name` as a shell does: in PATH, unless it has a slash. Returns 0, or ENOENT or EACCES.
int FindProgram(const std::string& name, std::string* path);

}  // namespace wqctl
