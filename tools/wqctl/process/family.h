// Family: commands and all processes that they have started, whatever their session or group.
//
//   Family family({command});
//   family.Terminate();   // SIGTERM; the command decides what becomes of it.
//   family.Kill();        // Returns when all of them have ended.
//
// A command is a subreaper (spawn.h): it adopts the orphans among its descendants, so all of them
// are below it while it lives. Kill stops it first and ends it last. If it has ended by itself
// between Terminate and Kill, Kill finds those that Terminate has found, what is below them, and
// what is in the command's session.
//
// They are found in /proc; without it, the process groups of the commands are all that is ended.
// Processes that may not be signalled, such as those of another user, are not waited for.
// Thread-compatible.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace wqctl {

class Family {
 public:
  // Each command leads a session.
  explicit Family(std::vector<pid_t> commands) : commands_(std::move(commands)) {}

  void Terminate();
  // Blocks: until all have ended.
  void Kill();

 private:
  enum class Members : uint8_t { kAll, kAllButCommands };

  bool Signal(int signal, Members members);
  void KillUntilEnded(Members members);
  bool IsCommand(pid_t pid) const;

  const std::vector<pid_t> commands_;
  std::set<std::pair<pid_t, uint64_t>> seen_;  // With the time of their start: pids come again.
};

}  // namespace wqctl
