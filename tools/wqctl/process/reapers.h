// Reapers: the processes between this one and its commands. When this process ends, by kill -9 too,
// they end the commands that run, with all that these have started, and nobody gets a key of these
// commands before.
//
//   Reapers reapers;
//   int error = reapers.Start();
//   std::unique_ptr<ReaperHandle> reaper;
//   error = reapers.Take(&reaper);
//   if (error == 0) error = reaper->Begin(request);
//   while (!reaper->TakeEnd(&wait_status)) poll(reaper->fds()) …
//   reapers.Return(std::move(reaper));
//
//   wqctl work ── maker ─┬─ reaper ── command ── what it starts
//                        └─ reaper ── command ── …
//
// A reaper runs one command at a time, and adopts the orphans below it (PR_SET_CHILD_SUBREAPER): so
// it finds all of them, whatever their session or process group. They are nobody's when the command
// has ended by itself: then the reaper ends too, and another is made for the next command.
//
// All of them share this process's table of descriptors. So the lock of the store that this process
// owns, and its connections to servers, are given up when the last of them has ended, and not at
// its own end. The maker was forked before anything was opened, and makes the reapers by fork: a
// process that has a store open must never run as a copy of itself.
//
// If a reaper is killed, the kernel kills its command, but not what that has started.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <array>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "tools/wqctl/process/reaper_messages.h"
#include "tools/wqctl/process/spawn.h"

namespace wqctl {

// One reaper, without a command or with one. Thread-compatible.
class ReaperHandle {
 public:
  ~ReaperHandle();
  ReaperHandle(const ReaperHandle&) = delete;
  ReaperHandle& operator=(const ReaperHandle&) = delete;

  // Starts the command, whose descriptors are ours. Returns 0 or an errno; EAGAIN, too, if the
  // reaper was killed. REQUIRES: the command before has ended. Blocks: until its exec.
  int Begin(const SpawnRequest& request);
  // Signals all processes of the command. After either of the two none of them is left when it has
  // ended.
  void Terminate() const { Send(ReaperRequest::Kind::kTerminate); }
  void Kill() const { Send(ReaperRequest::Kind::kKill); }
  // Readable when TakeEnd may be true.
  std::array<pollfd, 2> fds() const;
  // Whether the command has ended, as waitpid reports it.
  bool TakeEnd(int* wait_status);

 private:
  friend class Reapers;
  ReaperHandle(int channel, int reapers_end) : channel_(channel), reapers_end_(reapers_end) {}
  bool Send(ReaperRequest::Kind kind, int fd = -1) const;
  void Hangup();

  int channel_;
  const int reapers_end_;  // Of the channel: ours as well, since the table is shared.
  int pid_fd_ = -1;
  bool ended_ = false;  // The reaper: it can run no further command.
};

// Thread-safe, but for Start and the destructor.
class Reapers {
 public:
  Reapers() = default;
  // Returns when the processes have ended. REQUIRES: every reaper was returned.
  ~Reapers();
  Reapers(const Reapers&) = delete;
  Reapers& operator=(const Reapers&) = delete;

  // Returns 0 or an errno. REQUIRES: this process has one thread, and no store or connection.
  int Start();
  // Returns 0 or an errno; ESRCH: the maker was killed.
  int Take(std::unique_ptr<ReaperHandle>* reaper);
  // `reaper` may be null.
  void Return(std::unique_ptr<ReaperHandle> reaper);

 private:
  int Make(ReaperHandle* reaper) const WQ_REQUIRES(mu_);

  pid_t maker_ = -1;
  int maker_fd_ = -1;  // A pidfd.
  int channel_ = -1;   // To the maker.
  int makers_end_ = -1;
  wq::Mutex mu_;
  std::vector<std::unique_ptr<ReaperHandle>> idle_ WQ_GUARDED_BY(mu_);
};

}  // namespace wqctl
