// QueueState: all the state of one queue, and every transition of it. Pure: no thread, no I/O, no
// clock.
//
//   MutationBatch batch;
//   QueueState state({.id = 1}, &batch);
//   state.Add("default/pod-1", {}, clock->Now());
//   state.Stamp(journal->Append(batch));          // what the transition changed is now position N
//
// Why one class and not the field's three wrapped queues: "count a failure and delay the key" and
// "leave delayed, become dirty" must each be one atomic step on disk.
//
// Always:
//   - an item is in the order exactly when its state is kQueued;
//   - it has a pending record (dirty or lanes) exactly when its state is not kClean, and that
//   record
//     has the item's lane and sequence; a delayed record exactly when it has a DelayEntry; a
//     failures record exactly when it has a FailureEntry; so memory is the truth and the disk its
//     image;
//   - sequences are handed out once and ascend; a lane's items are queued in their order;
//   - what a crash leaves of an item that was processing is its pending record, older than those
//   that
//     were queued behind it: rebuilt, it comes first.
//
// Thread-compatible: Queue calls it under its lock. Keys, lanes and delays were checked by then.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/delay_heap.h"
#include "engine/item_table.h"
#include "engine/order.h"
#include "storage/records.h"
#include "wq/clock.h"
#include "wq/queue.h"

namespace wq {

class QueueState {
 public:
  struct Config {
    storage::QueueId id = 0;
    Order order = Order::kFifo;
    bool add_cancels_delay = false;
  };

  // Mutations go to `batch`, which is borrowed; nullptr keeps the queue in memory only.
  QueueState(const Config& config, storage::MutationBatch* batch);
  QueueState(const QueueState&) = delete;
  QueueState& operator=(const QueueState&) = delete;

  // What an adding transition did. If it appended nothing to the batch, `position` is that of the
  // record that stands for the call.
  struct Added {
    AddOutcome outcome = AddOutcome::kAdded;
    Position position = 0;
  };
  Added Add(std::string_view key, std::optional<Lane> lane, int64_t wall_us);
  // REQUIRES: 0 <= delay_us <= kMaxDelay.
  Added AddAfter(std::string_view key, int64_t delay_us, std::optional<Lane> lane, Time now);
  // Counts a failure and delays the key.
  void AddRateLimited(std::string_view key, int64_t delay_us, std::string_view error,
                      std::optional<Lane> lane, Time now);
  void Forget(std::string_view key);

  // Takes the next key to processing; nullptr if none is queued. Appends nothing.
  const Item* Get();
  // False, and nothing changes, if the key is not processing.
  bool Done(std::string_view key);

  // Turns the delayed entries that are due at now.steady_us into Adds, in the order of their due
  // times, at most `limit` of them. Returns how many.
  size_t FireDue(Time now, size_t limit);
  // Steady time of the earliest delayed entry; nullopt if there is none.
  std::optional<int64_t> NextDue() const;

  // Notes where in the store's stream the mutations since the last Stamp were appended.
  void Stamp(Position position);

  bool HasLane(Lane lane) const { return order_->HasLane(lane); }
  uint64_t NumRequeues(std::string_view key) const;
  bool AddedAgain(std::string_view key) const;
  bool IsProcessing(std::string_view key) const;
  size_t Len() const { return order_->Len(); }
  size_t processing() const { return processing_; }
  uint64_t pushes() const { return pushes_; }  // How often a key was queued so far.
  QueueCounts Counts() const;

  // --- Recovery: the records of the store, before any transition. ---
  // Each returns Corruption, naming the key, for what no sequence of transitions can leave.

  void RestoreState(const storage::QueueStateRecord& record);
  // REQUIRES: in the order of storage::ScanPending.
  Status RestorePending(const storage::PendingRecord& record);
  Status RestoreDelayed(const storage::DelayedRecord& record, Time now);
  Status RestoreFailures(const storage::FailureRecord& record);
  // Ends the recovery. Keys of lanes that the order does not have (it may be another one than last
  // time) go to the back of kFastLane; that alone appends mutations.
  void FinishRestore();

 private:
  // Transitions of one item; `lane` is settled by now.
  Added MarkDirty(Item* item, Lane lane, int64_t wall_us);
  void Enqueue(Item* item, Lane lane);
  void Touch(Item* item, Lane lane);
  Added Delay(Item* item, int64_t delay_us, std::optional<Lane> lane, Time now);
  void DropDelay(Item* item);
  void DropIfIdle(Item* item);
  uint64_t NextSequence();

  // Mutations. Nothing happens in a queue that is in memory only.
  void PutPending(Item* item);
  void ErasePending(const Item& item, Lane lane, uint64_t sequence);
  void RewritePending(Item* item, Lane old_lane, uint64_t old_sequence);
  void PutDelayed(DelayEntry* entry);
  void EraseDelayed(const DelayEntry& entry);
  void PutFailures(const Item& item);

  const Config config_;
  storage::MutationBatch* const batch_;

  ItemTable items_;
  std::unique_ptr<OrderPolicy> order_;  // The items that are kQueued.
  DelayHeap delays_;                    // The DelayEntry of every item that has one.
  size_t processing_ = 0;               // Items that are kProcessing or kProcessingDirty.
  size_t failing_ = 0;                  // Items with a FailureEntry.
  uint64_t pushes_ = 0;

  uint64_t next_sequence_ = 1;
  uint64_t sequence_high_water_ = 0;  // On disk; next_sequence_ never passes it.

  std::vector<Item*> displaced_;  // During recovery: items whose lane the order does not have.

  // Records that were put since the last Stamp: where their positions go.
  std::vector<Position*> unstamped_;
};

}  // namespace wq
