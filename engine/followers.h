// Followers: the threads that wait while another one writes, each woken by itself and for a reason.
//
//   auto place = followers.Join(position, power);          // under the journal's lock
//   if (place->Await() == Followers::Call::kReached) …     // outside it
//   Followers::Called called = followers.Take(written, synced);   // under it
//   Followers::Notify(called);                             // outside it
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

#include "engine/item.h"

namespace wq {

class Followers {
 public:
  enum class Call : int {
    kNone = 0,
    kReached,  // The position is as durable as wanted.
    kLook,     // Look again: it may be this thread's turn to write, or the journal has failed.
  };

  class Place {
   public:
    // Blocks: until called.
    Call Await();

   private:
    friend class Followers;
    static_assert(sizeof(Call) == sizeof(int));
    std::atomic<int> call_ = 0;  // Of type Call; int, so that it is what the kernel waits on.
    Position position_ = 0;
    bool power_ = false;
  };
  // Shared with the thread that waits there, which may be gone by the time of the Notify.
  using Called = std::vector<std::shared_ptr<Place>>;

  // The place of this thread, which waits for `position` to be written or, with `power`, synced.
  std::shared_ptr<Place> Join(Position position, bool power);

  // Calls those whose position has been reached, and the one that has waited longest of the others: it
  // is to write next, and comes first.
  Called Take(Position written, Position synced);
  // Calls all to look again.
  Called TakeAll();
  static void Notify(const Called& called);

  bool empty() const { return waiting_.empty(); }

 private:
  Called waiting_;  // In the order of Join.
};

}  // namespace wq
