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
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wq/entry.h"
#include "wq/options.h"
#include "wq/status.h"

namespace wq {

struct FailingKey {
  std::string key;
  FailureInfo failures;
};

struct GroupDepth {
  std::string group;
  uint64_t pending = 0;
};

// What bounds the memory of a QueueSummary.
inline constexpr size_t kMaxSummaryLanes = 10'000;
inline constexpr size_t kMaxSummaryGroups = 10'000;
inline constexpr size_t kMaxSummaryCursors = 1'000;

struct QueueSummary {
  std::string name;
  uint64_t pending = 0;
  // Pending by lane, in hand-out order. Of a queue with more than kMaxSummaryLanes lanes, so many
  // of them, and in other_lanes the pending keys of the rest.
  std::map<Lane, uint64_t, std::greater<>> lanes;
  uint64_t other_lanes = 0;
  uint64_t delayed = 0;
  uint64_t failing = 0;  // The quarantined ones apart.
  uint64_t quarantined = 0;
  // As it is on disk: a pause whose end has passed stands there until the queue is opened.
  bool paused = false;
  std::optional<int64_t> paused_until_us;  // Unset: until Resume.
  // Whether the queue hands out nothing at this time.
  bool PausedAt(int64_t wall_us) const {
    return paused && (!paused_until_us || *paused_until_us > wall_us);
  }
  std::optional<int64_t> oldest_added_at_us;  // Of the pending keys.
  std::optional<int64_t> next_ready_at_us;    // Of the delayed keys.
  std::vector<FailingKey> top_failing;        // By count, highest first; then by key.

  // Groups of pending keys; keys without one are left out. While there are no more than
  // kMaxSummaryGroups, group_error is 0 and all is exact. Otherwise `groups` is one more than that,
  // a depth in top_groups may be too low, by at most group_error, and a group that is no deeper
  // than that may be missing.
  uint32_t shards = 0;  // Of the last opening that had any.
  uint64_t groups = 0;
  uint64_t group_error = 0;
  std::vector<GroupDepth> top_groups;  // By depth, highest first; then by name.

  std::map<std::string, uint64_t> cursors;  // Their sizes in bytes; the first kMaxSummaryCursors.
  uint64_t other_cursors = 0;               // How many more there are.
};

struct StoreInfo {
  std::string dir;
  std::string uuid;
  uint32_t format_version = 0;
  int64_t created_at_us = 0;
  int64_t owner_pid = 0;     // Of the last owner; 0 if there never was one.
  bool owner_alive = false;  // Whether it holds the store now.
};

struct SummaryOptions {
  size_t top_failing = 10;
  size_t top_groups = 10;
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

  // What the queue keeps of itself.
  Status Info(std::string_view queue, QueueInfo* info) const;

  // All cursors of the queue with their bytes, in the memory that they take.
  Status Cursors(std::string_view queue, std::map<std::string, std::string>* cursors) const;

  struct Rep;

 private:
  explicit StoreView(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace wq
