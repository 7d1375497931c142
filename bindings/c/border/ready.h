// Ready: one notification for whoever looked for a key and found none. See "Ready" in wq/c/queue.h.
//
//   ready.Ask(); look again; if there is still none: the next Tell goes to the callback and the
//   descriptors.
//
// Asking before looking again is what loses no notification: a key that this look does not see is made
// ready after it, under the queue's lock, and then Tell sees the asking. Threading: thread-safe.
#pragma once

#include <atomic>
#include <mutex>

#include "wq/status.h"

namespace wq::c {

class Ready {
 public:
  Ready(void (*callback)(void* arg), void* arg) : callback_(callback), arg_(arg) {}
  ~Ready();
  Ready(const Ready&) = delete;
  Ready& operator=(const Ready&) = delete;

  void Ask() { asked_.store(true); }
  void Tell() noexcept {
    if (asked_.load(std::memory_order_relaxed) && asked_.exchange(false)) {
      TellNow();
    }
  }

  // A new descriptor, the caller's.
  Status Descriptor(int* fd);

 private:
  void TellNow() noexcept;

  void (*const callback_)(void* arg);  // May be null.
  void* const arg_;
  std::atomic<bool> asked_{false};
  std::mutex mu_;  // For making fd_.
  std::atomic<int> fd_{
      -1};  // An eventfd, once somebody wants one; all descriptors are copies of it.
};

}  // namespace wq::c
