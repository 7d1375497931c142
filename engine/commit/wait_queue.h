// WaitQueue: the threads that wait while another one writes, each woken by itself and for a reason.
//
//   auto waiter = wait_queue.Join(position, power);          // under the journal's lock
//   if (waiter->Await() == WaitQueue::Wake::kReached) …     // outside it
//   WaitQueue::Woken called = wait_queue.Take(written, synced);   // under it
//   WaitQueue::Notify(woken);                             // outside it
//
// Whoever is called needs no lock to know why. A write takes microseconds, going to sleep and being woken
// as long; so a follower gives its processor to others for a moment first, and is most often
// called by then. Why not one condition variable for all: each write would wake everybody, most of
// them to no end; and glibc (since 2.27, bug 25847) can lose a signal of it.
//
// Thread-compatible: lives under the journal's lock, but for Await and Notify.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "engine/state/position.h"

namespace wq {

class WaitQueue {
 public:
  enum class Wake : int {
    kNone = 0,
    kReached,     // The position is as durable as wanted.
    kCheckAgain,  // Look again: it may be this thread's turn to write, or the journal has failed.
  };

  class Waiter {
   public:
    // Blocks: until woken.
    Wake Await();

   private:
    friend class WaitQueue;
    static_assert(sizeof(Wake) == sizeof(int));
    std::atomic<int> wake_ = 0;  // Of type Call; int, so that it is what the kernel waits on.
    Position position_ = 0;
    bool power_ = false;
  };
  // Shared with the thread that waits there, which may be gone by the time of the Notify.
  using Woken = std::vector<std::shared_ptr<Waiter>>;

  // The place of this thread, which waits for `position` to be written or, with `power`, synced.
  std::shared_ptr<Waiter> Join(Position position, bool power);

  // Calls those whose position has been reached, and the one that has waited longest of the others: it
  // is to write next, and comes first.
  Woken Take(Position written, Position synced);
  // Calls all to look again.
  Woken TakeAll();
  static void Notify(const Woken& woken);

  bool empty() const { return waiting_.empty(); }

 private:
  Woken waiting_;  // In the order of Join.
};

}  // namespace wq
