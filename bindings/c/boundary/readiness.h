// Readiness: one notification for a caller that found no key. See "Ready" in wq/c/queue.h.
//
//   readiness.Of(queue);  // Once, before all others.
//   readiness.Request();
//   // Get again. If there is still no key, the next Notify calls the callback and makes the
//   // descriptors readable.
//
// No notification is lost, since the request is made before the second Get: a key that this Get
// does not find becomes ready later, and the Notify for that key finds the request. (The queue's
// lock orders both.)
// The first request begins to listen to the queue: most queues of C have no event loop.
// Threading: thread-safe. Lifetime: within the queue's.
#pragma once

#include <atomic>
#include <memory>

#include "base/mutex.h"
#include "wq/queue.h"
#include "wq/status.h"

namespace wq::c {

class Readiness {
 public:
  Readiness(void (*callback)(void* arg), void* arg) : callback_(callback), arg_(arg) {}
  ~Readiness();
  Readiness(const Readiness&) = delete;
  Readiness& operator=(const Readiness&) = delete;

  void Of(Queue* queue) { queue_ = queue; }
  void Request() WQ_EXCLUDES(mu_);

  // A new descriptor, which the caller closes.
  Status NewDescriptor(int* fd) WQ_EXCLUDES(mu_);

 private:
  void Notify() noexcept;

  void (*const callback_)(void* arg);  // May be null.
  void* const arg_;
  Queue* queue_ = nullptr;
  std::atomic<bool> requested_{false};
  std::atomic<bool> listens_{false};
  Mutex mu_;  // Held while fd_ is changed.
  std::unique_ptr<ReadyListener> listener_ WQ_GUARDED_BY(mu_);
  std::atomic<int> fd_{
      -1};  // An eventfd, made for the first descriptor; descriptors are copies of it.
};

}  // namespace wq::c
