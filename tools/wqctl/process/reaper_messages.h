// What passes between wqctl work and its reapers: see reapers.h. All of them run the same program,
// and share one table of descriptors, so a descriptor is a number. Plain data; each is one message
// of a SOCK_SEQPACKET socket.
#pragma once

#include <cstdint>

namespace wqctl {

struct ReaperRequest {
  enum class Kind : uint8_t {
    kRun,        // The plan in the file `fd`. The first answer is kStarted.
    kTerminate,  // SIGTERM to all processes of the command. Without one that runs: nothing.
    kKill,       // The same with SIGKILL.
  };
  Kind kind = Kind::kRun;
  int fd = -1;
};

struct ReaperAnswer {
  enum class Kind : uint8_t {
    kStarted,  // `value` is 0 or an errno; then the command does not run.
    kEnded,    // `value` is the wait status of the command.
  };
  Kind kind = Kind::kStarted;
  int value = 0;
  // Of kEnded: processes that the command left behind run on, and the reaper has ended, so that
  // they are nobody's any more. Never after kTerminate or kKill, unless they cannot be killed.
  bool left_processes = false;
};

// To the process that makes reapers: make one that answers at `channel`. And its answer, which is
// also its first message: whether it has begun.
struct NewReaperRequest {
  int channel = -1;
};
struct NewReaperAnswer {
  int error = 0;    // An errno.
  int pid_fd = -1;  // Of the reaper.
};

}  // namespace wqctl
