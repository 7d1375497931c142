// Readiness: one notification for a caller that found no key. See "Ready" in wq/c/queue.h.
//
//   readiness.Request();
//   // Get again. If there is still no key, the next Notify calls the callback and makes the
//   // descriptors readable.
//
// No notification is lost, since the request is made before the second Get: a key that this Get
// does not find becomes ready later, and the Notify for that key finds the request. (The queue's
// lock orders both.)
// Threading: thread-safe.
#pragma once

#include <atomic>

#include "base/mutex.h"
#include "wq/status.h"

namespace wq::c {

class Readiness {
 public:
  Readiness(void (*callback)(void* arg), void* arg) : callback_(callback), arg_(arg) {}
  ~Readiness();
  Readiness(const Readiness&) = delete;
  Readiness& operator=(const Readiness&) = delete;

  void Request() { requested_.store(true); }
  void Notify() noexcept {
    if (requested_.load(std::memory_order_relaxed) && requested_.exchange(false)) {
      NotifyNow();
    }
  }

  // A new descriptor, which the caller closes.
  Status NewDescriptor(int* fd) WQ_EXCLUDES(mu_);

 private:
  void NotifyNow() noexcept;

  void (*const callback_)(void* arg);  // May be null.
  void* const arg_;
  std::atomic<bool> requested_{false};
  Mutex mu_;  // Held while fd_ is changed.
  std::atomic<int> fd_{
      -1};  // An eventfd, made for the first descriptor; descriptors are copies of it.
};

}  // namespace wq::c
