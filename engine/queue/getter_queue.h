// GetterQueue: where the threads that wait for a queue's keys are, each on a condition variable of its own.
//
//   if (!getters.Wait(mu, deadline)) …            // under the queue's lock
//   GetterQueue::Woken woken = getters.Take(n);       // under it too: who is to look again
//   GetterQueue::Notify(woken);                       // outside it
//
// Why not one condition variable for all: glibc (since 2.27, bug 25847) can lose a signal when several
// threads wait on the same one and signals come fast; and whom a key concerns is known here.
//
// Thread-compatible: lives under the queue's lock, but for Notify.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"

namespace wq {

class GetterQueue {
 public:
  struct Getter {
    CondVar cv;
    bool woken = false;  // Taken out of the parking, and about to be notified.
  };
  // Shared with the thread that waits there, which may be gone by the time of the Notify.
  using Woken = std::vector<std::shared_ptr<Getter>>;
  using Deadline = std::optional<std::chrono::steady_clock::time_point>;

  // Blocks: until somebody takes this thread out, or for no reason; false once the deadline has passed.
  bool Wait(Mutex& mu, Deadline deadline) WQ_REQUIRES(mu);

  bool empty() const { return waiting_.empty(); }
  // Takes out up to `n` threads, the latest to come first: its caches are the warmest.
  Woken Take(size_t n);
  Woken TakeAll() { return Take(waiting_.size()); }
  static void Notify(const Woken& woken);

 private:
  Woken waiting_;
};

}  // namespace wq
