// StoreView: looks into a store without owning it and without changing one byte of it.
//
//   std::unique_ptr<wq::StoreView> view;
//   wq::Status s = wq::StoreView::Open("/var/lib/pod-controller", &view);
//   wq::QueueSummary pods;
//   if (s.ok()) s = view->Summarize("pods", {}, &pods);
//
// Works beside a running owner, after a clean close, and after a crash. It sees the store as it was
// on disk when it was opened; what an owner has only in memory (which pending keys are being
// processed, kAsync calls not yet written) it cannot see. Threading: thread-compatible. Lifetime:
// holds the files that it reads open. Memory: a constant (the unflushed part of the store, at most
// about StoreOptions::max_wal_bytes), whatever the number of keys, lanes and groups.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wq/entry.h"
#include "wq/options.h"
#include "wq/queue_summary.h"
#include "wq/status.h"

namespace wq {

struct StoreInfo {
  std::string dir;
  std::string uuid;
  uint32_t format_version = 0;
  int64_t created_at_us = 0;
  int64_t snapshot_at_us = 0;  // When it was taken, if it is a snapshot (snapshot.h); otherwise 0.
  int64_t owner_pid = 0;       // Of the last owner; 0 if there never was one.
  bool owner_alive = false;    // Whether it holds the store now.
  bool owner_closed = false;   // Whether it has closed it. If not, and it is gone, it was killed.
  int64_t opened_at_us = 0;    // When it became the owner; 0 if that cannot be told.
  int64_t written_at_us = 0;   // When a file of the store was written last; likewise.
  uint64_t wal_bytes = 0;  // Of the write-ahead log; an owner that closes the store leaves none.
  std::vector<std::pair<std::string, uint64_t>> family_bytes;  // About; flushed and in memory.
};

// How many keys are handed out before a pending one, as far as it was counted.
struct KeyPosition {
  uint64_t at_least = 0;
  uint64_t at_most = 0;  // The same as at_least if all was counted.
};

class StoreView {
 public:
  // NotFound, Corruption, NotSupported as Store::Open. Never Locked.
  static Status Open(const std::string& dir, std::unique_ptr<StoreView>* view);
  ~StoreView();
  StoreView(const StoreView&) = delete;
  StoreView& operator=(const StoreView&) = delete;

  const StoreInfo& info() const;
  std::vector<std::string> QueueNames() const;  // Sorted.

  // NotFound: no such queue.
  Status Summarize(std::string_view queue, const SummaryOptions& options,
                   QueueSummary* summary) const;

  // Calls `visit` with every entry of the queue: the pending ones in hand-out order, then the
  // delayed ones by ready time, then the keys with only failures by key, then the quarantined ones
  // by key. Stops early, with Ok, when `visit` returns false.
  using Visitor = std::function<bool(const Entry&)>;
  Status ForEachEntry(std::string_view queue, const Visitor& visit) const;
  // Only the entries in one of these states; does not walk over the others, but for kFailing, which
  // must look at what is pending and delayed.
  Status ForEachEntry(std::string_view queue, EntryStates states, const Visitor& visit) const;

  // Only the quarantined keys, by key; looks at nothing else.
  Status ForEachQuarantined(std::string_view queue, const Visitor& visit) const;
  // The keys with failures, pending, delayed or neither, by key; not the quarantined ones.
  Status ForEachFailing(std::string_view queue,
                        const std::function<bool(const FailingKey&)>& visit) const;

  // The entries of one key, at most one of a state. NotFound: the queue holds nothing of this key.
  Status Find(std::string_view queue, std::string_view key, std::vector<Entry>* entries) const;
  // The same for many keys in the time of about one; the keys that nothing is held of are left out.
  // In the order of `keys`, which must differ from one another.
  Status FindAll(std::string_view queue, const std::vector<std::string>& keys,
                 std::vector<Entry>* entries) const;

  // How many keys are handed out before `entry`, which Find gave and which is pending, if lanes go
  // strictly one after the other and nothing is added. Counts up to `max_counted` keys, and looks at
  // the rest by blocks of 8192 places, each of which may be taken.
  Status PositionOf(std::string_view queue, const Entry& entry, uint64_t max_counted,
                    KeyPosition* position) const;

  // What the queue keeps of itself.
  Status Info(std::string_view queue, QueueInfo* info) const;

  // All cursors of the queue with their bytes, in the memory that they take.
  Status Cursors(std::string_view queue, std::map<std::string, std::string>* cursors) const;

  struct Impl;

 private:
  explicit StoreView(std::unique_ptr<Impl> rep);
  std::unique_ptr<Impl> impl_;
};

}  // namespace wq
