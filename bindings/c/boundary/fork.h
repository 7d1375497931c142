// Forked: whether this process is a forked child of a process that has opened a store. The child
// has none of the threads that write the store, but shares its open files; so every call of the C
// interface fails there. Thread-safe.
#pragma once

#include <atomic>

namespace wq::c {

// From now on Forked is true in children of this process. Idempotent. Throws std::bad_alloc.
void WatchForks();

// A byte of a page that the kernel clears in a child. Null until WatchForks.
extern std::atomic<const volatile char*> fork_mark;

inline bool Forked() {
  const volatile char* const mark = fork_mark.load(std::memory_order_acquire);
  return mark != nullptr && *mark == 0;
}

}  // namespace wq::c
