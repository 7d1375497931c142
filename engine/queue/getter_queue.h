// GetterQueue: the threads that wait for a key of a queue, or for room in it, each on a condition
// variable of its own.
//
//   bool in_time = getters.Wait(mu, deadline);        // With the queue's lock held.
//   GetterQueue::Woken woken = getters.TakeFor(n);    // Another thread, with the lock held.
//   woken.Notify();                                   // After the lock is released.
//
// Why not one condition variable for all of them: glibc since 2.27 can lose a signal if several
// threads wait on the same variable and signals are frequent (bug 25847). And so a transition can
// wake exactly as many threads as there is something for.
//
// Who is woken is judged by what is there now, not by what has just changed: two places that come
// free one after the other are two, also if the first thread that was woken has not run yet.
//
// Thread-compatible: the queue's lock guards it. Woken needs no lock.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/check.h"
#include "base/mutex.h"

namespace wq {

class GetterQueue {
 public:
  // Who is taken out first.
  enum class First : uint8_t {
    kNewest,  // Whose caches are the warmest. For threads of which any will do.
    kOldest,  // For threads that each have something of their own to do.
  };
  explicit GetterQueue(First first) : first_(first) {}

  // A waiting thread. A thread waits for one queue at a time, so it has one Getter for all queues.
  struct Getter {
    CondVar cv;
    bool woken = false;  // Taken out of the queue. Under the lock of the queue it waits for.
    size_t places = 1;   // How many it needs.
    uint64_t since = 0;  // Its place in the order.
  };

  // Threads that were taken out and have to be notified: one that is not would wait for ever. So
  // none can be dropped: the destructor and the assignment end the process if there are some.
  class Woken {
   public:
    Woken() = default;
    Woken(Woken&& other) noexcept : getters_(std::move(other.getters_)) { other.getters_.clear(); }
    Woken& operator=(Woken&& other) noexcept {
      CheckEmpty();
      getters_.swap(other.getters_);
      return *this;
    }
    ~Woken() { CheckEmpty(); }

    bool empty() const { return getters_.empty(); }
    void Add(Woken&& others) {
      if (!others.empty()) {
        AddAll(std::move(others));
      }
    }
    // Empty afterwards. To be called without the queue's lock where it is often called.
    void Notify() {
      if (!empty()) {
        NotifyAll();
      }
    }

   private:
    friend class GetterQueue;
    void CheckEmpty() const { WQ_CHECK(empty(), "threads that were woken are not notified"); }
    void AddAll(Woken&& others);
    void NotifyAll();

    // Shared with the waiting threads: a thread that wakes by itself may end before the Notify.
    std::vector<std::shared_ptr<Getter>> getters_;
  };
  // nullopt: none.
  using Deadline = std::optional<std::chrono::steady_clock::time_point>;

  // Blocks: until another thread takes this one out, or the deadline passes. Releases `mu` during
  // the wait. False if the deadline has passed; the caller still has to check for a key then.
  // `places`: how many it needs. `again`: it was taken out and found too few, and keeps its place
  // in the order.
  bool Wait(Mutex& mu, Deadline deadline, size_t places = 1, bool again = false) WQ_REQUIRES(mu);

  bool empty() const { return waiting_.empty(); }
  // Whether a thread waits, or was taken out and has not run yet.
  bool busy() const { return running_ > 0 || !empty(); }
  // Takes out as many threads as there is something for, beyond those that were taken out and have
  // not run yet, up to the first that needs more places: `n` is the number of keys, or of places,
  // that are free now.
  Woken TakeFor(size_t n) { return n > running_ ? Take(n - running_) : Woken(); }
  Woken TakeAll() { return Take(SIZE_MAX); }
  // For a queue that no thread will wait for any more.
  void FreeMemory() { waiting_.shrink_to_fit(); }

 private:
  Woken Take(size_t n);

  const First first_;
  uint64_t waits_ = 0;
  std::vector<std::shared_ptr<Getter>> waiting_;  // In the order in which they began to wait.
  size_t running_ = 0;  // The places of those taken out that have not returned from Wait yet.
};

}  // namespace wq
