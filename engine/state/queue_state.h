// QueueState: all the state of one queue, and every transition of it. Pure: no thread, no I/O, no clock.
//
//   MutationBatch batch;
//   QueueState state(1, {.order = Order::kTwoLanes}, &batch);
//   state.Add("default/pod-1", {.lane = kSlowLane}, clock->WallUs());
//   state.Stamp(journal->Append(batch, urgency, state.row_change()));  // what it changed: at position N
//
// Why one class and not the field's three wrapped queues: "count a failure and delay the key" and
// "leave delayed, become dirty" must each be one atomic step on disk.
//
// Always:
//   - an item is in the order exactly when its state is kQueued;
//   - it has a pending record (dirty or lanes) exactly when its state is not kClean, and that record
//     has the item's lane and sequence; a delayed record exactly when it has a DelayEntry; a record
//     in failures or quarantine exactly when it has a FailureEntry. So memory is the truth, and the
//     disk its image;
//   - sequences are handed out once and ascend; a lane's items are queued in their order;
//   - a quarantined item is neither dirty nor delayed;
//   - of a shard at most one item is processing;
//   - what a crash leaves of an item that was processing is its pending record, older than those that
//     were queued behind it: rebuilt, it comes first.
//
// Thread-compatible: Queue calls it under its lock. Keys, lanes and delays were checked by then.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/state/delay_heap.h"
#include "engine/state/group_table.h"
#include "engine/state/item_table.h"
#include "engine/state/order.h"
#include "engine/state/position.h"
#include "engine/state/sequence_set.h"
#include "storage/records.h"
#include "wq/clock.h"
#include "wq/queue.h"

namespace wq {

class QueueState {
 public:
  // Of `options`, what concerns the state is copied; they were checked. Mutations go to `batch`, which
  // is borrowed; nullptr keeps the queue in memory only.
  QueueState(storage::QueueId id, const QueueOptions& options, storage::MutationBatch* batch);
  QueueState(const QueueState&) = delete;
  QueueState& operator=(const QueueState&) = delete;

  // What the caller asks an adding transition for. An empty group: none.
  struct Wanted {
    std::optional<Lane> lane = std::nullopt;
    std::string_view group = {};
  };
  // What an adding transition did. If it appended nothing to the batch, `position` is that of the
  // record that stands for the call.
  struct Added {
    AddOutcome outcome = AddOutcome::kAdded;
    Position position = 0;
  };
  Added Add(std::string_view key, const Wanted& wanted, int64_t wall_us);
  // Begins to bring what is known of the key into the cache. Any thread, at any time, under no lock.
  void Prefetch(std::string_view key) const { items_.Prefetch(key); }
  // The same for the item itself, of a key that Prefetch was called for a while ago. Not any thread.
  void PrefetchItem(std::string_view key) const { items_.PrefetchItem(key); }
  // REQUIRES: 0 <= delay_us <= kMaxDelay.
  Added AddAfter(std::string_view key, int64_t delay_us, const Wanted& wanted, Time now);

  // A failure: what the limiter answered, and what it wants to be kept.
  struct Failure {
    int64_t delay_us = 0;
    std::string_view error = {};
    std::string_view limiter_state = {};
  };
  // Counts the failure and delays the key, or quarantines it if that was one too many.
  Added AddRateLimited(std::string_view key, const Failure& failure, const Wanted& wanted,
                       Time now);
  // Nothing happens to the failures of a quarantined key: see Release.
  void Forget(std::string_view key);

  // Takes the next key of `shard` to processing; nullptr if none is queued, one of the shard's is
  // processing, or the queue is paused. Without shards, `shard` is 0. Appends nothing.
  const Item* Get(uint32_t shard);

  // These return false, and change nothing, if the key is not as they need it.
  bool Done(std::string_view key);                      // Processing.
  bool Remove(std::string_view key);                    // Dirty.
  bool CancelDelay(std::string_view key);               // Delayed.
  bool EndDelay(std::string_view key, Time now);        // Delayed.
  bool Release(std::string_view key, int64_t wall_us);  // Quarantined.
  bool Drop(std::string_view key);                      // Quarantined.

  void Quarantine(std::string_view key, std::string_view error, int64_t wall_us);

  void SetCursor(std::string_view name, std::string_view value);
  bool EraseCursor(std::string_view name);  // False if there is none.
  const std::map<std::string, std::string, std::less<>>& cursors() const { return cursors_; }

  // Pauses, for `duration_us` if that is given.
  void Pause(std::optional<int64_t> duration_us, Time now);
  void Resume();
  bool paused() const { return paused_; }

  // Ends a pause whose time is over, and turns the delayed entries that are due at now.steady_us into
  // Adds, in the order of their due times, at most `limit` of them. Returns how many.
  size_t FireDue(Time now, size_t limit);
  // Steady time at which FireDue has something to do next; nullopt for never.
  std::optional<int64_t> NextDue() const;

  // What the mutations since the last Stamp do to their row, if they are one mutation.
  const RowChange& row_change() const { return row_change_; }
  // Notes where in the store's stream the mutations since the last Stamp were appended.
  void Stamp(Position position);

  bool HasLane(Lane lane) const { return orders_.front()->HasLane(lane); }
  // Whether the key's group is settled: it is dirty, processing, delayed or quarantined.
  bool Knows(std::string_view key) const;
  uint64_t NumRequeues(std::string_view key) const;
  bool AddedAgain(std::string_view key) const;
  bool IsProcessing(std::string_view key) const;
  bool IsQuarantined(std::string_view key) const;
  size_t Len() const { return queued_; }
  size_t processing() const { return processing_; }
  // How often a queued key became ready to be handed out, so far.
  uint64_t readied() const { return readied_; }
  // How often a key became dirty, so far: the Adds that were not deduplicated, whoever made them.
  uint64_t adds() const { return adds_; }
  QueueCounts Counts() const;
  // When the oldest of the first keys of the lanes or groups was added, wall time; nullopt if none
  // is queued.
  std::optional<int64_t> OldestAddedAtUs() const;
  // The queued items in hand-out order, shard by shard, until `visit` returns false.
  void ForEachQueued(const std::function<bool(const Item&)>& visit) const;
  std::vector<QuarantinedKey> Quarantined() const;  // By key.

  // Puts every record that should be on disk, each once, in no order.
  void AppendImage(storage::MutationBatch* batch) const;

  // --- Recovery: the records of the store, in this order, before any transition. ---
  // Each returns Corruption, naming the key, for what no sequence of transitions can leave.

  Status RestoreState(const storage::QueueStateRecord& record, Time now);
  Status RestoreQuarantine(const storage::QuarantineRecord& record);
  // REQUIRES: in the order of storage::ScanPending.
  Status RestorePending(const storage::PendingRecord& record);
  Status RestoreDelayed(const storage::DelayedRecord& record, Time now);
  Status RestoreFailures(const storage::FailureRecord& record);
  Status RestoreCursor(const storage::CursorRecord& record);
  // Ends the recovery. Keys of lanes that the order does not have (it may be another one than last
  // time) go to the back of kFastLane; keys that were processing when they were quarantined are not
  // pending any more; the number of shards is noted. Only these append mutations.
  void FinishRestore();
  std::string_view limiter_state() const { return limiter_state_; }

 private:
  // Transitions of one item; `lane` is settled by now.
  Added MarkDirty(Item* item, Lane lane, int64_t wall_us);
  void Enqueue(Item* item, Lane lane);
  void Unqueue(Item* item);
  void Touch(Item* item, Lane lane);
  Added Delay(Item* item, int64_t delay_us, const Wanted& wanted, Time now);
  void DropDelay(Item* item);
  void Fire(Item* item, int64_t wall_us);
  void QuarantineItem(Item* item, int64_t wall_us);
  void ReleaseItem(Item* item);
  FailureEntry* Failures(Item* item);
  void SettleGroup(Item* item, std::string_view name);
  void DropIfIdle(Item* item);
  uint64_t NextSequence();
  OrderPolicy& OrderOf(const Item& item) { return *orders_[item.shard]; }

  storage::QueueStateRecord StateRecord() const;
  // Mutations. Nothing happens in a queue that is in memory only.
  void PutState();
  void PutPending(Item* item);
  void ErasePending(const Item& item, Lane lane, uint64_t sequence);
  void RewritePending(Item* item, Lane old_lane, uint64_t old_sequence);
  void PutDelayed(DelayEntry* entry);
  void EraseDelayed(const DelayEntry& entry);
  void PutFailures(const Item& item);
  void EraseFailures(const Item& item);

  // The options that matter here.
  const storage::QueueId id_;
  const bool add_cancels_delay_;
  const bool sharded_;
  const ReAdd re_add_;
  const uint64_t max_requeues_;  // 0: none.
  const QuarantinedAdd quarantined_add_;
  storage::MutationBatch* const batch_;

  GroupTable groups_;                // Before items_, which point to it.
  Slabs<DelayEntry> delay_entries_;  // The same.
  ItemTable items_;
  std::vector<std::unique_ptr<OrderPolicy>> orders_;  // By shard: the items that are kQueued.
  std::vector<bool> busy_;  // By shard: one of its keys is processing. Only of a sharded queue.
  DelayHeap delays_;        // The DelayEntry of every item that has one.
  size_t queued_ = 0;       // Items that are kQueued.
  size_t processing_ = 0;   // Items that are kProcessing or kProcessingDirty.
  size_t failing_ = 0;      // Items with a FailureEntry that is not quarantined.
  size_t quarantined_ = 0;  // Items with one that is.
  uint64_t readied_ = 0;
  uint64_t adds_ = 0;
  uint64_t dones_ = 0;
  uint64_t failures_ = 0;
  std::map<std::string, std::string, std::less<>> cursors_;

  uint64_t next_sequence_ = 1;
  uint64_t sequence_high_water_ = 0;  // On disk; next_sequence_ never passes it.
  std::string limiter_state_;         // On disk.
  bool paused_ = false;               // On disk.
  int64_t paused_until_us_ = 0;       // On disk, wall time; 0 if the pause does not end by itself.
  uint32_t shards_on_disk_ = 0;       // Of the last opening that had any; for readers.
  int64_t pause_due_us_ = 0;  // The same instant in steady time, if paused_until_us_ is not 0.

  // During recovery: items whose lane the order does not have, or that are quarantined.
  std::vector<Item*> displaced_;
  SequenceSet restored_sequences_;  // During recovery.

  // Records that were put since the last Stamp: where their positions go.
  std::vector<Position*> unstamped_;
  RowChange row_change_;
};

}  // namespace wq
