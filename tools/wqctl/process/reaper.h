// Reaper: the process wq-reaper beside this one. When this process ends, by kill -9 too, it ends
// the commands that run, with all that these have started, and nobody gets a key of these commands
// before.
//
//   Reaper reaper;
//   wq::Status s = reaper.Start();
//   RunningCommand command(&reaper);
//   int error = command.Start(request);
//   poll(command.fd()) …                  // Readable when the command has ended.
//   int wait_status = command.Collect();
//
// The reaper shares this process's table of descriptors. So the lock of the store that this process
// owns, and its connections to servers, are given up when the reaper has ended, and not at the end
// of this process. It was forked before anything was opened: a process that has a store open must
// never run as a copy of itself. Which commands run it sees in memory that both share: the kernel
// writes the pidfd of a command there before the command runs.
//
// If the reaper is killed, commands run on, and none is started any more.
//
// What a command leaves behind becomes a child of this process if that is the first one of a
// container, or a subreaper. Then a thread waits for the end of such children, so that none stays a
// zombie, until the reaper ends.
#pragma once

#include <sys/types.h>

#include <optional>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "tools/wqctl/process/family.h"
#include "tools/wqctl/process/spawn.h"
#include "wq/status.h"

namespace wqctl {

// Thread-safe, but for Start and the destructor.
class Reaper {
 public:
  static constexpr int kMaxCommands = 1024;  // More never run at once.

  Reaper() = default;
  ~Reaper();  // REQUIRES: no command runs.
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;

  // NotSupported: the kernel, or a filter of system calls, refuses one that is needed; the message
  // names it. IOError: a lack of resources. REQUIRES: this process has one thread, and no store or
  // connection.
  wq::Status Start();

 private:
  friend class RunningCommand;
  wq::Status StartCollecting();
  void CollectOrphans() const;
  bool IsCommand(pid_t pid) const;
  int* TakePlace();  // Null: the reaper was killed.
  void ReturnPlace(int* place);

  pid_t pid_ = -1;
  int pid_fd_ = -1;
  int own_fd_ = -1;        // A pidfd of this process, for the reaper.
  int* places_ = nullptr;  // The shared memory: the pidfd of a command, or -1.
  std::thread orphans_;    // Runs CollectOrphans, and waits for the reaper too.
  wq::Mutex mu_;
  std::vector<int*> free_ WQ_GUARDED_BY(mu_);
};

// A command and all that it starts. Thread-compatible.
class RunningCommand {
 public:
  explicit RunningCommand(Reaper* reaper) : reaper_(*reaper) {}
  ~RunningCommand();  // REQUIRES: not started, or collected.
  RunningCommand(const RunningCommand&) = delete;
  RunningCommand& operator=(const RunningCommand&) = delete;

  // Returns 0 or an errno; ESRCH: the reaper was killed. Once. Blocks: until the command's exec.
  int Start(const SpawnRequest& request);
  int fd() const { return *place_; }
  // SIGTERM to the command and all that it has started; and SIGKILL.
  void Terminate();
  void Kill();  // Blocks: until they have ended.
  // Returns how the command has ended, as waitpid reports it. What it has started goes on, but
  // after Terminate or Kill it is killed first. REQUIRES: fd() is readable.
  int Collect();

 private:
  Reaper& reaper_;
  int* place_ = nullptr;
  pid_t pid_ = -1;
  std::optional<Family> told_to_end_;
};

}  // namespace wqctl
