// StoreView: reads a store without owning it and without changing one byte of it.
//
//   std::unique_ptr<wq::StoreView> view;
//   wq::Status s = wq::StoreView::Open("/var/lib/pod-controller", &view);
//   wq::QueueSummary pods;
//   if (s.ok()) s = view->Summarize("pods", {}, &pods);
//
// Works beside a running owner, after a clean close, and after a crash. It reads the store as it
// was on disk when the view was opened; it cannot read what an owner has only in memory (which
// pending keys are processing; in a store without a process log, kAsync calls not yet written).
// Memory: a constant (the unflushed part of the store, at most about StoreOptions::max_wal_bytes
// and three times process_log_bytes), whatever the number of keys, lanes and groups.
// Threading: thread-compatible. Lifetime: keeps the files that it reads open. A crash: of the
// owner, does not change what the view reads; of the reader, leaves nothing behind.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wq/entry.h"
#include "wq/options.h"
#include "wq/queue_summary.h"
#include "wq/status.h"

namespace wq {

struct ReplicaPosition {
  uint64_t epoch = 0;     // Of the ownership that wrote the last entry that it has.
  uint64_t sequence = 0;  // Of that entry; 0: it has none.
  bool seeded = false;    // Whether it is complete; otherwise a checkpoint is still to be copied.
};

struct StoreInfo {
  std::string dir;
  std::string uuid;
  uint32_t format_version = 0;
  int64_t created_at_us = 0;
  int64_t snapshot_at_us = 0;  // When it was created, for a snapshot (snapshot.h); otherwise 0.
  int64_t owner_pid = 0;       // Of the last owner; 0 if the store never had one.
  bool owner_alive = false;    // The owner holds the store now.
  bool owner_closed = false;   // The owner has closed it. Neither alive nor closed: it was killed.
  int64_t opened_at_us = 0;    // When it became the owner; 0 if unknown.
  int64_t written_at_us = 0;   // When a file of the store was last written; 0 if unknown.
  uint64_t wal_bytes = 0;      // Of the write-ahead log; 0 after an owner has closed the store.
  // Of the process log (StoreOptions::process_log_bytes), as its file on disk; 0 if the store has
  // none, and after an owner has closed the store.
  uint64_t process_log_bytes = 0;
  // Of a replica of a replicated store: how far it is in the log.
  std::optional<ReplicaPosition> replica = std::nullopt;
  std::vector<std::pair<std::string, uint64_t>>
      family_bytes;  // Approximate; on disk and unflushed.
};

// How many keys are handed out before a pending key.
struct KeyPosition {
  uint64_t at_least = 0;
  uint64_t at_most = 0;  // Equal to at_least if all keys were counted.
};

class StoreView {
 public:
  // Opens a view of the store in `dir`. NotFound, Corruption, NotSupported as Store::Open. Never
  // Locked.
  static Status Open(const std::string& dir, std::unique_ptr<StoreView>* view);
  ~StoreView();
  StoreView(const StoreView&) = delete;
  StoreView& operator=(const StoreView&) = delete;

  const StoreInfo& info() const;
  // An owner that is alive, for a message: "process 4711", or "a process of another PID namespace"
  // if this process cannot see it.
  std::string DescribeOwner() const;
  std::vector<std::string> QueueNames() const;  // Sorted.

  // Counts what the queue holds, reading all of it. NotFound: the queue does not exist.
  Status Summarize(std::string_view queue, const SummaryOptions& options,
                   QueueSummary* summary) const;

  // Calls `visit` with every entry of the queue: the pending ones in hand-out order, then the
  // delayed ones by ready_at, then the failing ones by key, then the quarantined ones by key. Stops
  // early, with Ok, when `visit` returns false. NotFound: the queue does not exist.
  using Visitor = std::function<bool(const Entry&)>;
  Status ForEachEntry(std::string_view queue, const Visitor& visit) const;
  // Visits only the entries in one of these states, and does not read the others, except that
  // kFailing must read what is pending and delayed.
  Status ForEachEntry(std::string_view queue, EntryStates states, const Visitor& visit) const;

  // Visits each source of the queue, followed by its objects by their bytes.
  Status ForEachSource(std::string_view queue, const std::function<bool(const SourceRow&)>& source,
                       const std::function<bool(const ObjectRow&)>& object) const;

  // Visits the keys with failures, pending, delayed or neither, by key; not the quarantined keys.
  Status ForEachFailing(std::string_view queue,
                        const std::function<bool(const FailingKey&)>& visit) const;

  // Returns the entries of one key, at most one per state. NotFound: the queue does not hold the
  // key.
  Status Find(std::string_view queue, std::string_view key, std::vector<Entry>* entries) const;

  // Counts the keys that are handed out before `entry`, which is pending and was returned by Find,
  // if lanes are served strictly in turn and nothing is added. Counts up to `max_counted` keys, and
  // estimates the rest by blocks of 8192 sequence numbers, each of which may be in use.
  Status PositionOf(std::string_view queue, const Entry& entry, uint64_t max_counted,
                    KeyPosition* position) const;

  // Reads what the store keeps about the queue.
  Status Info(std::string_view queue, QueueInfo* info) const;

  // Reads all cursors of the queue with their bytes. Memory: theirs.
  Status Cursors(std::string_view queue, std::map<std::string, std::string>* cursors) const;

  struct Impl;

 private:
  static Status OpenStore(const std::string& dir, std::unique_ptr<StoreView>* view);
  explicit StoreView(std::unique_ptr<Impl> rep);
  std::unique_ptr<Impl> impl_;
};

}  // namespace wq
