// QueueState: the whole state of one queue, and every transition of it. Pure: no threads, no I/O,
// no clock.
//
//   MutationBatch batch;
//   QueueState state(1, {.order = Order::kTwoLanes}, &batch);
//   state.Add("default/pod-1", {.lane = kSlowLane}, clock->WallUs());
//   state.Stamp(journal->Append(batch, awaited, state.row_change()));
//
// Each transition appends its mutations to the batch. The caller appends the batch to the journal
// and passes the position to Stamp before the next transition.
//
// Why one class, where client-go wraps a queue in a delaying queue in a rate-limiting queue: "count
// a failure and delay the key" and "a delay ends, its key becomes dirty" must each be one atomic
// step on disk.
//
// Invariants:
//   - an item is in the order exactly when its state is kQueued;
//   - it has a pending record (in dirty or lanes) exactly when its state is not kClean, with the
//     item's lane and sequence; a delayed record exactly when it has a DelayEntry; a record in
//     failures or quarantine exactly when it has a FailureEntry. So the disk is the image of
//     memory;
//   - sequences ascend and are never used twice; the items of a lane are queued in their order,
//     behind those that were put back;
//   - a quarantined item is neither dirty nor delayed;
//   - a delay began at due_us - delay_us, steady time;
//   - at most one item of a shard is processing;
//   - after a crash, an item that was processing is queued again before the items that were queued
//     behind it in its lane: its pending record has the lower sequence.
//
// Thread-compatible: Queue calls it under its lock, with keys, lanes and delays that it has
// checked.
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

#include "absl/container/btree_set.h"
#include "engine/history/history_buffer.h"
#include "engine/order/hand_out_limits.h"
#include "engine/order/order.h"
#include "engine/order/position.h"
#include "engine/state/cause_table.h"
#include "engine/state/delay_heap.h"
#include "engine/state/group_table.h"
#include "engine/state/item_ages.h"
#include "engine/state/item_table.h"
#include "engine/state/resync_gate.h"
#include "engine/state/sequence_set.h"
#include "engine/state/source_table.h"
#include "storage/records.h"
#include "wq/clock.h"
#include "wq/queue.h"

namespace wq {

class QueueState {
 public:
  // Copies what it needs of `options`. Mutations are appended to `batch`, which is borrowed;
  // nullptr: the queue is in memory only. `seen`: see ItemTable. REQUIRES: the options are valid.
  QueueState(storage::QueueId id, const QueueOptions& options, storage::MutationBatch* batch,
             PlacesSeen* seen = nullptr);
  QueueState(const QueueState&) = delete;
  QueueState& operator=(const QueueState&) = delete;

  // Appends the event of each transition to `history` from now on; borrowed, nullptr: nothing.
  void RecordTo(HistoryBuffer* history) { history_ = history; }

  // --- Transitions ---

  // The options of an adding transition. No lane: the present lane of the key. An empty group,
  // reason or trace parent: none.
  struct Wanted {
    std::optional<Lane> lane = std::nullopt;
    std::string_view group = {};
    std::string_view reason = {};
    std::string_view trace_parent = {};
    DelayMode delay_mode = DelayMode::kEarliest;
    bool if_absent = false;  // A key of which anything is known is left alone.

    bool explains() const { return !reason.empty() || !trace_parent.empty(); }
  };
  // The result of an adding transition. If it appended nothing to the batch, `position` is that of
  // the record on which the durability of the call depends.
  struct Added {
    AddOutcome outcome = AddOutcome::kAdded;
    Position position = 0;
  };
  Added Add(const HashedKey& key, const Wanted& wanted, int64_t wall_us) noexcept;
  // REQUIRES: 0 <= delay_us <= kMaxDelay.
  Added AddAfter(std::string_view key, int64_t delay_us, const Wanted& wanted, Time now) noexcept;
  // An Add that is gathered with others. REQUIRES: debounce.quiet is not 0.
  Added AddDebounced(std::string_view key, const Debounce& debounce, const Wanted& wanted,
                     Time now) noexcept;

  // A failure, with the delay and the state of the limiter.
  struct Failure {
    int64_t delay_us = 0;
    std::string_view error = {};
    std::string_view limiter_state = {};
  };
  // Counts the failure and delays the key, or quarantines it if it failed more than max_requeues
  // times.
  Added AddRateLimited(std::string_view key, const Failure& failure, const Wanted& wanted,
                       Time now) noexcept;
  // Whether a worker holds the key and the one before died of it.
  bool DiedBefore(std::string_view key) const;
  // Whether the next death of its worker counts a failure: each third one in a row does.
  bool DeathFails(std::string_view key) const;
  // Counts that failure, and ends the processing of the key. It may be in quarantine since
  // DeathFails was asked: then nothing is counted.
  Added FailDead(std::string_view key, const Failure& failure, const Wanted& wanted,
                 Time now) noexcept;
  // Does not change the failures of a quarantined key: see Release.
  void Forget(std::string_view key) noexcept;

  // Hands out the next key of `shard`: it becomes processing. nullptr: no key of the shard is
  // queued, one is processing, the queue is paused, or limits hold all keys back. `shard` is 0 in a
  // queue without shards. `now` is of use only if NeedsTime(). Appends nothing.
  const Item* Get(uint32_t shard, Time now = {}) noexcept;
  bool NeedsTime() const { return stuck_after_us_ > 0 || limits_.rated(); }
  // Whether Done needs the time: it may set a resync.
  bool DoneNeedsTime() const { return resync_.period.count() > 0 || !resyncs_.empty(); }

  // These need a key in the state on the right. Otherwise they return false and change nothing.
  bool Done(std::string_view key, Time now = {}) noexcept;  // Processing.
  bool PutBack(std::string_view key) noexcept;              // Processing.
  // PutBack of a key whose worker has died. From the second death in a row on, the key comes back
  // behind what waits in its lane. A row ends with Done, with Remove, with a quarantine, and with
  // this memory. For a key of which DeathFails is false.
  bool PutBackDead(std::string_view key) noexcept;         // Processing.
  bool Remove(std::string_view key) noexcept;              // Dirty.
  bool CancelDelay(std::string_view key) noexcept;         // Delayed.
  bool EndDelay(std::string_view key, Time now) noexcept;  // Delayed.
  // `delay_us` > 0: the key is delayed for so long, at most kMaxDelay, before it is dirty.
  bool Release(std::string_view key, int64_t delay_us, Time now) noexcept;  // Quarantined.
  bool Drop(std::string_view key) noexcept;                                 // Quarantined.
  bool Delete(std::string_view key) noexcept;  // Any state but clean, or failing.

  // `group`: of a key that is not known yet. Returns the position on which it depends if the key is
  // there already.
  Position Quarantine(std::string_view key, std::string_view error, Time now,
                      std::string_view group = {}) noexcept;

  // Counts an Add that found the queue full. Appends nothing.
  void CountFull() { ++full_; }

  void SetCursor(std::string_view name, std::string_view value) noexcept;
  bool EraseCursor(std::string_view name) noexcept;  // False: there is no such cursor.

  // Makes the source if there is none.
  void OpenSource(std::string_view name) noexcept;
  // The rows of its objects are to be erased next, and then its own. nullptr: there is none.
  std::unique_ptr<TrackedSource> RemoveSource(std::string_view name) noexcept;
  void EraseRow(storage::SourceId source, std::string_view object) noexcept;
  void EraseSource(storage::SourceId id) noexcept;
  // Those whose rows recovery has found: they are still to be erased.
  const std::vector<storage::SourceId>& removed_sources() const { return removed_sources_; }
  // nullptr: there is no such source.
  const TrackedSource* BeginList(std::string_view name, uint64_t fingerprint,
                                 uint64_t scope) noexcept;
  // The object has this row, with these facts, from now on, and was seen now.
  void PutObject(const TrackedObject& object, const storage::ObjectRecord& record,
                 const ObjectFacts& facts) noexcept;
  void EraseObject(TrackedSource* source, const ObjectId& id, std::string_view object) noexcept;

  // From now on these limits count, of the queue and of each group. O(groups), and O(keys) if the
  // queue had no limits.
  void SetLimits(const GroupLimits& of_queue, const GroupLimits& of_groups, Time now) noexcept;

  // Until Resume, or for `duration_us` if it is set.
  void Pause(std::optional<int64_t> duration_us, Time now) noexcept;
  void Resume() noexcept;

  // Does what is due at now.steady_us: ends the pause, makes the keys dirty whose delays have
  // ended, in the order of their due times, and finds those that are stuck. Returns how many of
  // these it did, at most `limit`, and no more delays once their keys have `max_bytes`.
  size_t FireDue(Time now, size_t limit, size_t max_bytes = SIZE_MAX) noexcept;
  // The steady time at which something is due next; nullopt: never.
  std::optional<int64_t> NextDue() const {
    const bool none =
        delays_.empty() && resyncs_.empty() && !paused_ && stuck_after_us_ == 0 && !limits_.rated();
    return none ? std::nullopt : FirstDue();
  }
  // From now on only keys become stuck, and limits let keys go.
  void StopDelays() { delays_stopped_ = true; }
  // As NextDue, of the delays alone, without resyncs.
  std::optional<int64_t> NextDelayDue() const;

  // --- The journal ---

  // The change of the row since the last Stamp, if that was a single mutation.
  const RowChange& row_change() const { return row_change_; }
  // Sets the position at which the mutations since the last Stamp were appended to the journal.
  void Stamp(Position position) noexcept;
  // Appends a put of every record that should be on disk, each once, in no order.
  void AppendImage(storage::MutationBatch* batch) const;

  // --- Readings ---

  bool HasLane(Lane lane) const { return orders_.front()->HasLane(lane); }
  uint64_t NumRequeues(std::string_view key) const;
  bool AddedAgain(std::string_view key) const;
  bool IsProcessing(std::string_view key) const;
  // Of a key that is processing: those with which it was handed out. Otherwise those of the next
  // hand-out, and of the delay. False: the key is neither dirty, processing nor delayed.
  bool CausesOf(std::string_view key, Causes* causes) const;
  // As CausesOf, of an item that Get has returned. nullptr: there are none.
  const Causes* HeldCauses(const Item& item) const {
    const ItemCauses* const causes = causes_.Find(item);
    return causes == nullptr ? nullptr : &causes->held;
  }
  bool IsQuarantined(std::string_view key) const;
  // Whether an Add of the key makes one more pending key.
  bool WouldBePending(std::string_view key) const;

  bool fair() const { return rules_.fair; }  // The groups of a lane take turns.
  size_t Len() const { return queued_; }
  // The queued keys that neither a pause nor limits hold back. (A rate may let fewer of them go.)
  size_t Open() const;
  size_t processing() const { return processing_; }
  size_t pending() const { return queued_ + processing_; }
  bool paused() const { return paused_; }
  // Wall time; 0: it is not paused, or until Resume.
  int64_t PausedUntilUs(Time now) const {
    return paused_until_us_ == 0 ? 0 : Later(now.wall_us, pause_due_us_ - now.steady_us);
  }
  // How often a key became ready to be handed out since this object was made.
  uint64_t readied() const { return readied_; }
  // How often a key became dirty since then: Adds that were not deduplicated, and delays that
  // ended.
  uint64_t adds() const { return adds_; }
  uint64_t held_adds() const { return held_adds_; }
  // When the oldest of the queued keys was added that PutBackDead has put behind later ones;
  // nullopt: there is none.
  std::optional<int64_t> OldestBehindUs() const { return behind_.NextSinceUs(); }
  QueueCounts Counts() const;  // Without the lanes and times.

  // Where a walk over the lanes of all shards goes on.
  struct LanePlace {
    size_t shard = 0;
    std::optional<Lane> above = std::nullopt;  // The last lane that was visited.
  };
  // Calls visit(lane, items) for the next `max` lanes with keys at most. Returns whether there may
  // be more. The lanes may change between two calls: one that stays is visited once.
  bool ForEachLane(LanePlace* place, size_t max,
                   const std::function<void(Lane, const LaneItems&)>& visit) const;

  // Calls visit(item) for the next items of a walk: see ItemTable::ForEachFrom. Bounded in time and
  // bytes.
  template <typename Visit>
  uint64_t ForEachFrom(uint64_t from, const Visit& visit) const {
    constexpr size_t kPlaces = 256;  // Of their keys an error may have kMaxErrorBytes.
    constexpr size_t kBytes = size_t{256} << 10;
    return items_.ForEachFrom(from, kPlaces, kBytes, visit);
  }
  // nullptr: the queue knows nothing of the key.
  const Item* Find(std::string_view key) const {
    const Item* item = items_.Find(key);
    return item == nullptr || item->idle() ? nullptr : item;
  }

  // Calls visit(item) for the queued items in hand-out order, shard by shard, until it returns
  // false. Item n costs O(log n) at most.
  void ForEachQueued(const std::function<bool(const Item&)>& visit) const;
  // Calls visit(item) for the quarantined items behind the key `after`, by key, until it returns
  // false.
  template <typename Visit>
  void ForEachQuarantined(std::string_view after, const Visit& visit) const {
    for (auto it = by_key_.upper_bound(after); it != by_key_.end() && visit(**it);) {
      ++it;
    }
  }
  const std::map<std::string, std::string, std::less<>>& cursors() const { return cursors_; }
  std::string_view limiter_state() const { return limiter_state_; }
  // nullptr: there is none.
  TrackedSource* FindSource(std::string_view name) const;
  const SourceTable& sources() const { return sources_; }

  // --- Prefetching ---

  // Begins to load the place of the key in the item table into the cache. Any thread may call it at
  // any time, without a lock.
  void Prefetch(const HashedKey& key) const { items_.Prefetch(key); }
  // The same for the item, some time after Prefetch of the key. Not thread-safe.
  void PrefetchItem(std::string_view key) const { items_.PrefetchItem(key); }

  // --- Recovery: called with the records of the store, in this order, before any transition ---
  // Corruption, with the key in the message: no sequence of transitions can have left these
  // records.

  Status RestoreState(const storage::QueueStateRecord& record, Time now);
  Status RestoreQuarantine(const storage::QuarantineRecord& record);
  // REQUIRES: in the order of storage::ScanPending.
  Status RestorePending(const storage::PendingRecord& record);
  Status RestoreDelayed(const storage::DelayedRecord& record, Time now);
  Status RestoreFailures(const storage::FailureRecord& record);
  Status RestoreCursor(const storage::CursorRecord& record);
  // A source is followed by its objects. Those of a removed source, and its own record, are erased.
  Status RestoreSource(const storage::SourceRecord& record);
  Status RestoreObject(const storage::ObjectRecord& record);
  // When a pause that ends by itself would end, if the queue were opened at wall_us.
  static int64_t PauseEndUs(const storage::QueueStateRecord& record, int64_t wall_us);
  // Ends the recovery. Moves keys of lanes that the order does not have (it may be another order
  // than at the last opening) to the back of kFastLane, gives each key a sequence of its own, makes
  // keys clean that were processing when they were quarantined, and records the number of shards.
  void FinishRestore(Time now);

 private:
  std::optional<int64_t> FirstDue() const;
  bool FireStuck(int64_t steady_us);  // Counts one key. False: there is none to count.

  // Transitions of one item. `lane` is the lane that the item gets.
  // `put`: the item's record is to be put again, if it has one.
  Added MarkDirty(Item* item, Lane lane, int64_t wall_us, bool put = false);
  void Enqueue(Item* item, Lane lane);
  void Unqueue(Item* item);
  void EndProcessing(Item* item);
  void Clean(Item* item);
  bool Touch(Item* item, Lane lane);
  Lane WantedLane(const Item& item, const Wanted& wanted) const;
  Added AddItem(Item* item, const Wanted& wanted, int64_t wall_us, bool failed = false);
  // What delays an item.
  struct DelayBy {
    int64_t delay_us = 0;
    int64_t max_wait_us = 0;  // Not 0: of a debounced Add.
    bool failed = false;      // A worker requeues the key that it holds, whose causes stay.
  };
  // Whether a delay of the item is an Add. A resync is not: it begins behind the Done.
  bool MergesDelay(const Item& item, const Wanted& wanted) const {
    return merge_delays_ && item.dirty() && wanted.delay_mode != DelayMode::kResync;
  }
  // The item has its group, as at MarkDirty: wanted.group is not read.
  Added Delay(Item* item, DelayBy by, const Wanted& wanted, Time now);
  // When the delay of the item ends with a further one; nullopt: as before.
  static std::optional<int64_t> NewEnd(const DelayEntry& entry, const DelayBy& by, DelayMode mode,
                                       Time now);
  void SetDelay(Item* item, const DelayEntry& wanted, int64_t steady_us);
  void PushDelay(DelayEntry* entry, int64_t steady_us);
  void RemoveDelay(Item* item);
  // us + by_us; the largest time if that overflows, as a wall clock may have any value.
  // REQUIRES: by_us >= 0.
  static int64_t Later(int64_t us, int64_t by_us);
  // The same for us - by_us, with the smallest time.
  static int64_t Earlier(int64_t us, int64_t by_us);
  void DropDelay(Item* item);
  // Drops the delay; its causes become those of the next hand-out. As MergeWanted, returns whether
  // the record that has them is to be put again.
  bool TakeDelay(Item* item);
  // Merges the causes of a caller, and if it `failed` those of its hand-out, into the item's.
  bool MergeWanted(Item* item, Causes ItemCauses::*which, const Wanted& wanted, bool failed) {
    return (failed || wanted.explains()) && MergeAny(item, which, wanted, failed);
  }
  bool MergeAny(Item* item, Causes ItemCauses::*which, const Wanted& wanted, bool failed);
  void ClearDirtyCauses(Item* item);
  Added Fire(Item* item, int64_t wall_us);
  // The item is no longer processing, and clean.
  void ResyncLater(Item* item, Time now);
  void SetResync(Item* item, int64_t delay_us, Lane lane, Time now);
  // The period, with the jitter of the key, which is always the same. At most kMaxDelay.
  int64_t SpreadResync(std::string_view key, int64_t period_us) const;
  Lane ResyncLane() const { return HasLane(kSlowLane) ? kSlowLane : kFastLane; }
  // The steady time of the next round; the largest time if there is none.
  int64_t NextResyncUs() const;
  // As FireDue. Adds the bytes of the keys to *bytes.
  size_t FireResyncs(Time now, size_t limit, size_t max_bytes, size_t* bytes);
  void QuarantineItem(Item* item, Time now);
  // `behind`: the item comes back behind what waits in its lane.
  void PutBackItem(Item* item, bool behind);
  // Whether an Add leaves the item in quarantine. Otherwise the Add ends the quarantine.
  bool Holds(const Item& item) const {
    return item.quarantined() && quarantined_add_ == QuarantinedAdd::kHold;
  }
  // The same, of an Add that is made: it is counted.
  bool HoldsAdd(const Item& item) {
    held_adds_ += Holds(item) ? 1 : 0;
    return Holds(item);
  }
  // Whether the Add leaves the item alone; sets *added then.
  bool LeavesAlone(const Item& item, const Wanted& wanted, Added* added) {
    return (wanted.if_absent || item.quarantined()) && LeavesAloneRarely(item, wanted, added);
  }
  bool LeavesAloneRarely(const Item& item, const Wanted& wanted, Added* added);
  void EndQuarantine(Item* item);
  void ReleaseItem(Item* item);
  FailureEntry* Failures(Item* item);
  void SettleGroup(Item* item, std::string_view name);
  void DropIfIdle(Item* item);
  void Record(HistoryKind kind, std::string_view key, int64_t delay_us = 0,
              std::string_view text = {}) {
    if (history_ != nullptr) {
      history_->Append(kind, key, delay_us, text);
    }
  }
  Added RecordAdd(std::string_view key, Added added, std::string_view reason = {}) {
    Record(added.outcome == AddOutcome::kAdded ? HistoryKind::kAdded : HistoryKind::kDeduplicated,
           key, 0, reason);
    return added;
  }
  uint64_t NextSequence();
  void MakeOrders();
  void OrderByGroup();
  void BeginTurn(const Item& item, Time now);
  void EndTurn(const Item& item);
  void EndWait(Group* group);
  size_t HeldBack() const;
  LaneOrder& OrderOf(const Item& item) { return *orders_[item.shard]; }

  storage::QueueStateRecord StateRecord() const;
  // For the records; empty: there are none.
  std::string PendingCauses(const Item& item) const {
    return item.caused ? EncodePendingCauses(item) : std::string();
  }
  std::string EncodePendingCauses(const Item& item) const;
  std::string DelayedCauses(const DelayEntry& entry) const;
  // Append mutations to batch_; without effect in a queue that is in memory only.
  void PutState();
  void PutPending(Item* item) {
    if (batch_ != nullptr) {
      AppendPending(item);
    }
  }
  void AppendPending(Item* item);
  void ErasePending(const Item& item, Lane lane, uint64_t sequence);
  void RewritePending(Item* item, Lane old_lane, uint64_t old_sequence);
  void PutDelayed(DelayEntry* entry);
  void EraseDelayed(const DelayEntry& entry);
  void PutFailures(const Item& item);
  void EraseFailures(const Item& item);
  void PutSource(std::string_view name, const TrackedSource& source);

  const storage::QueueId id_;
  const OrderRules rules_;
  const uint32_t shards_;  // At least 1.
  const bool merge_delays_;
  const bool sharded_;
  const ReAdd re_add_;
  const uint64_t max_requeues_;  // 0: no limit.
  const QuarantinedAdd quarantined_add_;
  const int64_t stuck_after_us_;  // 0: never.
  const Resync resync_;
  storage::MutationBatch* const batch_;
  HistoryBuffer* history_ = nullptr;

  GroupTable groups_;                // Before items_, which point into it.
  Slabs<DelayEntry> delay_entries_;  // Before items_, too.
  ItemTable items_;
  CauseTable causes_;
  HandOutLimits limits_;  // Points into groups_.
  bool by_group_;         // The orders are by group: see HandOutLimits::by_group.
  std::vector<std::unique_ptr<LaneOrder>> orders_;  // By shard: the items that are kQueued.
  std::vector<bool> busy_;  // By shard: one of its keys is processing. Not read without shards.
  DelayHeap delays_;        // The DelayEntry of every item that has one, but for resyncs.
  // The resyncs whose periods share a gate.
  struct ResyncBand {
    DelayHeap keys;
    ResyncGate gate;
  };
  std::map<int, ResyncBand> resyncs_;  // By ResyncGate::BandOf.
  ItemAges held_;                      // Items that are processing, if keys can become stuck.
  ItemAges behind_;                    // See OldestBehindUs: by added_at_us.
  size_t queued_ = 0;                  // Items that are kQueued.
  size_t processing_ = 0;              // Items that are kProcessing or kProcessingDirty.
  size_t failing_ = 0;                 // Items with a FailureEntry that is not quarantined.
  // Items with a FailureEntry that is quarantined.
  struct ByKey {
    using is_transparent = void;
    static std::string_view KeyOf(const Item* item) { return item->key(); }
    static std::string_view KeyOf(std::string_view key) { return key; }
    bool operator()(const auto& a, const auto& b) const { return KeyOf(a) < KeyOf(b); }
  };
  absl::btree_set<const Item*, ByKey> by_key_;
  uint64_t readied_ = 0;
  uint64_t adds_ = 0;
  uint64_t held_adds_ = 0;  // Adds and failures of quarantined keys, which changed nothing.
  uint64_t dones_ = 0;
  uint64_t failures_ = 0;
  uint64_t full_ = 0;
  bool delays_stopped_ = false;
  std::map<std::string, std::string, std::less<>> cursors_;
  SourceTable sources_;
  storage::SourceId last_source_ = 0;  // No id is used twice.
  uint64_t last_list_ = 0;

  uint64_t next_sequence_ = 1;
  uint64_t sequence_high_water_ = 0;  // On disk; next_sequence_ never passes it.
  std::string limiter_state_;         // On disk.
  bool paused_ = false;               // On disk.
  int64_t paused_until_us_ = 0;       // On disk, wall time; 0 if the pause does not end by itself.
  int64_t pause_us_ = 0;              // On disk: its length as requested.
  int64_t paused_at_us_ = 0;          // On disk, wall time: its begin.
  uint32_t shards_on_disk_ = 0;       // Of the last opening with shards; for readers of the store.
  int64_t pause_due_us_ = 0;  // The same instant in steady time, if paused_until_us_ is not 0.

  // During recovery: items of lanes that the order does not have, with a sequence that another item
  // has, or that are quarantined.
  std::vector<Item*> displaced_;
  SequenceSet restored_sequences_;            // During recovery.
  TrackedSource* restored_source_ = nullptr;  // During recovery: the last one.
  std::vector<storage::SourceId> removed_sources_;

  // Whose positions the next Stamp sets: their records were put since the last one.
  std::vector<Item*> unstamped_;
  std::vector<DelayEntry*> unstamped_delays_;
  // The last position. Failures have none of their own: what rests on them is as durable as all.
  Position stamped_ = 0;
  RowChange row_change_;
};

}  // namespace wq
