// Inbox: Adds that a queue has accepted and not applied yet.
//
//   if (inbox.Offer({.key = "default/pod-1", .wall_us = now_us})) return Status::Ok();
//   …
//   inbox.Take(&adds);                         // With the queue's lock held, before all else.
//   for (size_t i = 0; i < adds.size(); ++i) state.Add(adds[i] …);
//
// Why: the threads that add keys and the threads that process them contend for the queue's lock,
// and a contended lock costs more than an Add. Here an Add copies its key under a lock that is held
// for the copy only. The next thread that takes the queue's lock applies all Adds of the inbox, and
// so can fetch the cache lines of the next keys while it applies one.
//
// An Add whose caller asks for the outcome or waits for the disk cannot be offered. For every other
// call it is as if the Add had been applied when Offer returned, since each call that reads or
// changes the queue calls Take first.
//
// An inbox is open or shut; at first it is shut. It is shut while a Get waits, because an Add must
// wake that Get. A thread that is about to wait shuts the inbox, applies its Adds, and then waits:
// so no Add can be accepted between the last Take and the wait.
//
// Thread-safe. Its lock is taken after the queue's, and no other lock is taken under it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "wq/options.h"

namespace wq {

// An Add of the inbox.
struct InboxAdd {
  std::string_view key;
  std::optional<Lane> lane = std::nullopt;
  int64_t wall_us = 0;  // When it was called.
};

// Adds with copies of their keys, in the order in which they were offered. Clear keeps the memory.
class InboxAdds {
 public:
  size_t size() const { return ends_.size(); }
  size_t key_bytes() const { return keys_.size(); }
  InboxAdd operator[](size_t i) const;  // Its key is valid until the next change.

  void Append(const InboxAdd& add);
  void Clear();
  void Swap(InboxAdds& other) noexcept;

 private:
  struct End {
    size_t end;  // Of the key in keys_; it begins at the end of the one before.
    std::optional<Lane> lane;
    int64_t wall_us;
  };
  std::string keys_;
  std::vector<End> ends_;
};

class Inbox {
 public:
  // The most that it holds. The thread that takes the Adds applies all of them before its own work.
  static constexpr size_t kMaxAdds = 1024;
  static constexpr size_t kMaxKeyBytes = size_t{64} << 10;

  // False: it is shut or full, and the caller applies the Add.
  bool Offer(const InboxAdd& add) WQ_EXCLUDES(mu_);

  // Takes no lock. An Offer that returned before this call is seen.
  bool empty() const { return !some_; }
  // Moves its Adds to `adds`, in place of the contents of `adds`.
  void Take(InboxAdds* adds) WQ_EXCLUDES(mu_);

  void Open() WQ_EXCLUDES(mu_);
  // Accepts no more Adds. Those that it holds stay until Take.
  void Shut() WQ_EXCLUDES(mu_);

 private:
  Mutex mu_;
  InboxAdds adds_ WQ_GUARDED_BY(mu_);
  bool open_ WQ_GUARDED_BY(mu_) = false;
  // adds_ is not empty. Written under mu_. Sequentially consistent, as Journal::Announce requires.
  std::atomic<bool> some_{false};
};

}  // namespace wq
