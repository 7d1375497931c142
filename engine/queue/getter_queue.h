// GetterQueue: the threads that wait for a key of a queue, each on a condition variable of its own.
//
//   bool in_time = getters.Wait(mu, deadline);    // With the queue's lock held.
//   GetterQueue::Woken woken = getters.Take(n);   // Another thread, with the lock held.
//   GetterQueue::Notify(woken);                   // After the lock is released.
//
// Why not one condition variable for all of them: glibc since 2.27 can lose a signal if several
// threads wait on the same variable and signals are frequent (bug 25847). And so a transition can
// wake exactly as many threads as it has made keys ready.
//
// Thread-compatible: the queue's lock guards it. Notify needs no lock.
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
  // A waiting thread. A thread waits for one queue at a time, so it has one Getter for all queues.
  struct Getter {
    CondVar cv;
    bool woken = false;  // Taken out of the queue. Under the lock of the queue it waits for.
  };
  // Shared with the waiting threads: a thread that wakes by itself may end before the Notify.
  using Woken = std::vector<std::shared_ptr<Getter>>;
  // nullopt: none.
  using Deadline = std::optional<std::chrono::steady_clock::time_point>;

  // Blocks: until another thread takes this one out, or the deadline passes. Releases `mu` during
  // the wait. False if the deadline has passed; the caller still has to check for a key then.
  bool Wait(Mutex& mu, Deadline deadline) WQ_REQUIRES(mu);

  bool empty() const { return waiting_.empty(); }
  // Takes out at most `n` threads, those that began to wait last first: their caches are the
  // warmest. The caller has to Notify them.
  Woken Take(size_t n);
  Woken TakeAll() { return Take(waiting_.size()); }
  static void Notify(const Woken& woken);

 private:
  Woken waiting_;  // In the order in which they began to wait.
};

}  // namespace wq
