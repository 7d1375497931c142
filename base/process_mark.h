// ProcessMark: whether this process created the mark, or was forked from that process since.
//
//   const ProcessMark mark_;
//   if (mark_.Forked()) …  // This is a child: the store is the parent's.
//
// A fork copies a store's memory without its threads, and with its locks in any state. The child
// must not use the store: not take its locks, not write its files, not close it. Forked costs one
// load. Thread-safe.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>

namespace wq {

// The number of forks between the process that made the first mark and this one.
uint64_t Forks();

class ProcessMark {
 public:
  ProcessMark() : forks_(Forks()), pid_(getpid()) {}
  bool Forked() const { return Forks() != forks_; }
  pid_t pid() const { return pid_; }  // Of the process that created the mark.

 private:
  const uint64_t forks_;
  const pid_t pid_;
};

// Makes every forked child close the descriptor at once: a lock that belongs to the open file would
// otherwise last as long as any child. Call ForgetInChildren before closing it.
void CloseInChildren(int fd);
void ForgetInChildren(int fd);

// From now on, exit(3) in a forked child flushes the files of stdio and ends the process, without
// the functions that the parent gave to atexit(3) and without destructors: RocksDB's would wait
// indefinitely for threads that run in the parent only.
void SkipDestructorsInChildren();

}  // namespace wq
