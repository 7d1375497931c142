// WaitQueue: the followers, which are the threads that wait while another thread writes.
//
//   auto waiter = queue.Join(position, Reached::kSynced);   // With the journal's lock held.
//   if (waiter->Await() == WaitQueue::Wake::kReached) …     // After the lock is released.
//
//   WaitQueue::Woken woken = queue.Take(ends);              // The writer, with the lock held.
//   WaitQueue::Notify(woken);                               // After the lock is released.
//
// Each follower has a flag of its own, which says why it is woken: so it needs no lock to find out.
// To sleep and be woken takes microseconds, as long as a write without a sync. So a follower that
// waits for no sync first yields the processor for 40 us, and mostly its flag is set during that.
//
// Why not one condition variable for all: each write would wake every follower, most of them
// without effect; and glibc since 2.27 can lose a signal of such a variable (bug 25847).
//
// Thread-compatible: the journal's lock guards it. Await and Notify need no lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/order/position.h"

namespace wq {

// How far a batch can have come.
enum class Reached : uint8_t {
  kWritten = 0,  // It survives a kill of the process.
  kStored = 1,   // The storage has it; that of a replicated store has appended it to the log.
  kSynced = 2,   // The storage has it, and it survives a power cut.
};
// The position up to which everything has come so far, by Reached.
using Ends = std::array<Position, 3>;

class WaitQueue {
 public:
  enum class Wake : int {
    kNone = 0,
    kReached,     // The position is as durable as wanted.
    kCheckAgain,  // This thread has to write next, or the state of the journal has changed.
  };

  class Waiter {
   public:
    // Blocks: until woken.
    Wake Await();

   private:
    friend class WaitQueue;
    static_assert(sizeof(Wake) == sizeof(int));
    std::atomic<int> wake_ = 0;           // A Wake; int, since that is what the kernel can wait on.
    Position position_ = 0;               // Under the journal's lock.
    Reached wanted_ = Reached::kWritten;  // Written by its own thread.
  };
  // Shared with the waiting threads: a thread that sees its flag early may end before the Notify.
  using Woken = std::vector<std::shared_ptr<Waiter>>;

  // Adds this thread, which waits until `position` has come as far as `wanted`. It has to Await.
  std::shared_ptr<Waiter> Join(Position position, Reached wanted);

  // Takes out the followers whose position is reached, and one more if there is one: the follower
  // that has waited longest, which has to write next. It is the first in the result.
  Woken Take(const Ends& ends);
  // Takes out all followers, with kCheckAgain.
  Woken TakeAll();
  static void Notify(const Woken& woken);

  bool empty() const { return waiting_.empty(); }

 private:
  Woken waiting_;  // In the order of Join.
};

}  // namespace wq
