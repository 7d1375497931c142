// ProcessMark: whether this process is still the one that made the mark, or was forked from it since.
//
// A fork copies a store's memory without its threads, and with locks in whatever state they were. The
// child must not touch it: not wait for a lock of it, not write its files, not close it. Asking costs
// one load. Thread-safe.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>

namespace wq {

// How many forks lie between this process and its first mark.
uint64_t Forks();

class ProcessMark {
 public:
  ProcessMark() : forks_(Forks()), pid_(getpid()) {}
  bool Forked() const { return Forks() != forks_; }
  pid_t pid() const { return pid_; }  // Of the process that made it.

 private:
  const uint64_t forks_;
  const pid_t pid_;
};

// A descriptor that every forked child closes at once: a lock that belongs to the open file would live
// as long as any child. Forget it before it is closed.
void CloseInChildren(int fd);
void ForgetInChildren(int fd);

}  // namespace wq
