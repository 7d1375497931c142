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
// about StoreOptions::max_wal_bytes), whatever the number of keys.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wq/options.h"
#include "wq/status.h"

namespace wq {

// Times are microseconds since 1970-01-01T00:00:00Z.

struct FailureInfo {
  uint64_t count = 0;
  int64_t first_at_us = 0;
  int64_t last_at_us = 0;
  std::string last_error;
};

enum class EntryState : uint8_t {
  kPending = 0,  // Dirty: queued, or processing at this moment or at the crash.
  kDelayed = 1,
  kFailing = 2,  // Only a failure count is kept: neither pending nor delayed.
};

// One entry of a queue. A key that is both pending and delayed has two.
struct Entry {
  std::string key;
  EntryState state = EntryState::kPending;
  Lane lane = kFastLane;
  uint64_t sequence = 0;    // Pending: the place in its lane; smaller is earlier.
  int64_t added_at_us = 0;  // Pending, delayed: when it was added.
  int64_t ready_at_us = 0;  // Delayed: when it becomes pending.
  int64_t delay_us = 0;     // Delayed: the delay that was asked for.
  std::optional<FailureInfo> failures;
};

struct FailingKey {
  std::string key;
  FailureInfo failures;
};

struct QueueSummary {
  std::string name;
  uint64_t pending = 0;
  std::map<Lane, uint64_t, std::greater<>> lanes;  // Pending by lane, in hand-out order.
  uint64_t delayed = 0;
  uint64_t failing = 0;
  std::optional<int64_t> oldest_added_at_us;  // Of the pending keys.
  std::optional<int64_t> next_ready_at_us;    // Of the delayed keys.
  std::vector<FailingKey> top_failing;        // By count, highest first; then by key.
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
  // delayed ones by ready time, then the keys with only failures by key. Stops early, with Ok, when
  // `visit` returns false.
  using Visitor = std::function<bool(const Entry&)>;
  Status ForEachEntry(std::string_view queue, const Visitor& visit) const;

  // The entries of one key, at most one of a state. NotFound: the queue holds nothing of this key.
  Status Find(std::string_view queue, std::string_view key, std::vector<Entry>* entries) const;

  struct Rep;

 private:
  explicit StoreView(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace wq
