// Forked: whether this process is a fork of the one that uses the library. A fork has none of the
// threads that write the store, and would share its files; so every call of the C interface refuses.
// Thread-safe.
#pragma once

#include <atomic>

namespace wq::c {

// From now on a child of this process is a fork. Idempotent.
void WatchForks();

// One word of a page that the kernel gives to a child as zeros. Null until WatchForks.
extern std::atomic<const volatile char*> fork_mark;

inline bool Forked() {
  const volatile char* const mark = fork_mark.load(std::memory_order_acquire);
  return mark != nullptr && *mark == 0;
}

}  // namespace wq::c
