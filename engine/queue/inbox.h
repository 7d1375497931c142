// Inbox: Adds that have been accepted and are still to be made.
//
//   if (inbox.Offer({.key = "default/pod-1", .wall_us = now_us})) return Status::Ok();   // Any thread.
//   …
//   inbox.Take(&adds);                                             // Under the queue's lock, first of all.
//   for (size_t i = 0; i < adds.size(); ++i) state.Add(adds[i] …);
//
// Why: threads that add and threads that work keys off meet at the queue's lock, and a lock that is fought for
// costs more than an Add. Here an Add copies its key under a lock that is held for that only; whoever has
// the queue's lock next makes all that have come, which brings their items into the cache side by side.
//
// An Add whose caller asks for its outcome cannot go this way, nor one that waits for the disk. To everybody
// else it looks as if it were made when Offer returned: all that look at the queue or change it Take first.
//
// Open or shut. Shut is how it begins, and how it is while somebody waits for a key: that somebody
// has to be woken, so such an Add is made at once. Shut, a last Take, and then waiting: nothing can come between.
//
// Threading: thread-safe. Its lock is taken under the queue's, and nothing is taken under it.
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

// Some of them, in the order in which they came, with their keys. Keeps its memory when cleared.
class InboxAdds {
 public:
  size_t size() const { return ends_.size(); }
  size_t key_bytes() const { return keys_.size(); }
  InboxAdd operator[](size_t i) const;

  void Append(const InboxAdd& add);
  void Clear();
  void Swap(InboxAdds& other) noexcept;

 private:
  struct End {
    size_t end;  // Of the key in keys_.
    std::optional<Lane> lane;
    int64_t wall_us;
  };
  std::string keys_;
  std::vector<End> ends_;
};

class Inbox {
 public:
  // More than these is refused, until somebody has taken them: it should not take long to make them all.
  static constexpr size_t kMaxAdds = 1024;
  static constexpr size_t kMaxKeyBytes = size_t{64} << 10;

  // False: it is shut or full, and the caller makes the Add.
  bool Offer(const InboxAdd& add) WQ_EXCLUDES(mu_);

  // Whether nothing was offered that was not taken. An Offer that came before this call is seen.
  bool empty() const { return !some_; }
  // Puts all that came into `adds`, in place of what is there.
  void Take(InboxAdds* adds) WQ_EXCLUDES(mu_);

  void Open() WQ_EXCLUDES(mu_);
  // What is in it stays, to be taken; nothing comes after it.
  void Shut() WQ_EXCLUDES(mu_);

 private:
  Mutex mu_;
  InboxAdds adds_ WQ_GUARDED_BY(mu_);
  bool open_ WQ_GUARDED_BY(mu_) = false;
  // adds_ is not empty. Written under mu_. Sequentially consistent, as Journal::Announce asks for.
  std::atomic<bool> some_{false};
};

}  // namespace wq
