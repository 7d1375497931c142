// Readiness: one notification for a caller that found no key. See "Ready" in wq/c/queue.h.
//
//   readiness.NewDescriptor(queue, &fd);
//   readiness.Request();
//   // Get again. If there is still no key, the next Notify makes the descriptors readable.
//
// No notification is lost, since the request is made before the second Get: a key that this Get
// does not find becomes ready later, and the Notify for that key finds the request. (The queue's
// lock orders both.)
// The first descriptor begins to listen to the queue: most queues of C have no event loop.
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
  Readiness() = default;
  ~Readiness() { Close(); }
  Readiness(const Readiness&) = delete;
  Readiness& operator=(const Readiness&) = delete;

  void Request() { requested_.store(true); }

  // A new descriptor, which the caller closes. The queue is the same in each call.
  Status NewDescriptor(Queue* queue, int* fd) WQ_EXCLUDES(mu_);

  // Ends the notifications: for a queue that was closed. Descriptors stay as they are. Idempotent.
  void Close() WQ_EXCLUDES(mu_);

 private:
  void Notify() noexcept;

  std::atomic<bool> requested_{false};
  int fd_ = -1;  // An eventfd, which descriptors are copies of. Constant while listener_ is set.
  Mutex mu_;
  std::unique_ptr<ReadyListener> listener_ WQ_GUARDED_BY(mu_);
};

}  // namespace wq::c
