// The part of QueueState that is the table of wq/queue.h: the transitions between clean, queued and
// processing. Also groups and cursors.

#include "engine/state/queue_state.h"

#include <algorithm>
#include <utility>

#include "base/causes.h"
#include "base/check.h"
#include "base/mutant.h"

namespace wq {

QueueState::QueueState(storage::QueueId id, const QueueOptions& options,
                       storage::MutationBatch* batch, PlacesSeen* seen)
    : id_(id),
      rules_(RulesOf(options)),
      shards_(std::max<uint32_t>(1, options.shards)),
      merge_delays_(options.merge_delays),
      sharded_(options.shards > 0),
      re_add_(options.re_add),
      max_requeues_(options.max_requeues),
      quarantined_add_(options.quarantined_add),
      stuck_after_us_(options.stuck_after.count()),
      resync_(options.resync),
      batch_(batch),
      items_(seen),
      limits_(options.limits, options.group_limits),
      by_group_(limits_.by_group() || rules_.fair) {
  MakeOrders();
}

void QueueState::MakeOrders() {
  for (uint32_t i = 0; i < shards_; ++i) {
    orders_.push_back(std::make_unique<LaneOrder>(rules_, by_group_));
  }
  busy_.resize(shards_);
}

// --- Add, Get, Done ---

QueueState::Added QueueState::Add(const HashedKey& key, const Wanted& wanted,
                                  int64_t wall_us) noexcept {
  Item* item = items_.FindOrInsert(key);
  if (Added added; LeavesAlone(*item, wanted, &added)) {
    return added;
  }
  SettleGroup(item, wanted.group);
  return AddItem(item, wanted, wall_us);
}

bool QueueState::LeavesAloneRarely(const Item& item, const Wanted& wanted, Added* added) {
  if (wanted.if_absent && !item.idle()) {
    const Position delayed = item.delay != nullptr ? item.delay->position : 0;
    const Position position =
        item.failures != nullptr ? stamped_ : std::max(item.position, delayed);
    *added = RecordAdd(item.key(), {AddOutcome::kDeduplicated, position});
    return true;
  }
  *added = {AddOutcome::kHeld, stamped_};
  return HoldsAdd(item);
}

QueueState::Added QueueState::AddItem(Item* item, const Wanted& wanted, int64_t wall_us,
                                      bool failed) {
  const Lane lane = WantedLane(*item, wanted);
  EndQuarantine(item);
  const bool put = MergeWanted(item, &ItemCauses::dirty, wanted, failed);
  const bool takes_delay = merge_delays_ && item->delayed();
  const bool put_too = takes_delay && TakeDelay(item);
  return RecordAdd(item->key(), MarkDirty(item, lane, wall_us, put || put_too), wanted.reason);
}

// The lane for an Add of the item. With ReAdd::kRaisesLane not below that of its delay; for a dirty
// item, Touch compares it with the present lane.
Lane QueueState::WantedLane(const Item& item, const Wanted& wanted) const {
  const Lane present = item.quarantined() ? item.failures->lane : item.present_lane();
  const Lane lane = wanted.lane.value_or(present);
  const bool raises = re_add_ == ReAdd::kRaisesLane && item.delayed();
  return raises ? std::max(lane, item.delay->lane) : lane;
}

// The column "Add" of the table in wq/queue.h.
QueueState::Added QueueState::MarkDirty(Item* item, Lane lane, int64_t wall_us, bool put) {
  switch (item->state) {
    case KeyState::kClean:
      ++adds_;
      item->added_at_us = wall_us;
      Enqueue(item, lane);
      PutPending(item);
      row_change_.is_new = true;  // A clean key has no record.
      return {AddOutcome::kAdded, 0};
    case KeyState::kProcessing:
      // No mutation: the record of the processing key makes it dirty after a crash.
      ++adds_;
      item->added_at_us = wall_us;
      if (!Touch(item, lane) && put) {
        PutPending(item);
      }
      item->state = KeyState::kProcessingDirty;
      return {AddOutcome::kAdded, item->position};
    case KeyState::kQueued:
    case KeyState::kProcessingDirty:
      if (!Touch(item, lane) && put) {
        PutPending(item);
      }
      return {AddOutcome::kDeduplicated, item->position};
  }
  WQ_CHECK(false, "a key in no state");
}

// Makes the item kQueued, at the back of the lane, with a new sequence.
void QueueState::Enqueue(Item* item, Lane lane) {
  item->lane = lane;
  item->state = KeyState::kQueued;
  item->sequence = NextSequence();
  OrderOf(*item).Push(item);
  ++queued_;
  ++readied_;
}

// Makes a kQueued item kClean.
void QueueState::Unqueue(Item* item) {
  OrderOf(*item).Remove(item);
  behind_.Erase(item);
  --queued_;
  item->state = KeyState::kClean;
  item->deaths = 0;
  ErasePending(*item, item->lane, item->sequence);
  ClearDirtyCauses(item);
}

// Add of a key that has a record, to `lane`. The first Add since Get sets the lane: there is no
// earlier Add whose lane it could raise. Returns whether it has put the record.
bool QueueState::Touch(Item* item, Lane lane) {
  const Lane old_lane = item->lane;
  const uint64_t old_sequence = item->sequence;
  if (item->state == KeyState::kQueued) {
    if (!OrderOf(*item).Moves(*item, lane)) {
      return false;
    }
    OrderOf(*item).Remove(item);
    item->lane = lane;
    item->sequence = NextSequence();
    OrderOf(*item).Push(item);
  } else {
    const bool sets = re_add_ == ReAdd::kSetsLane || item->state == KeyState::kProcessing;
    if (lane == old_lane || (lane < old_lane && !sets)) {
      return false;
    }
    item->lane = lane;  // Done queues it there.
  }
  RewritePending(item, old_lane, old_sequence);
  return true;
}

const Item* QueueState::Get(uint32_t shard, Time now) noexcept {
  if (paused_ || (sharded_ && busy_[shard]) || limits_.all()->closed()) {
    return nullptr;
  }
  Item* item = orders_[shard]->Pop();
  if (item != nullptr) {
    items_.Prefetch(*item);  // For Done.
    behind_.Erase(item);
    if (WQ_MUTANT(drop_processing)) {
      ErasePending(*item, item->lane, item->sequence);
    }
    item->state = KeyState::kProcessing;
    if (ItemCauses* causes = causes_.Find(*item); causes != nullptr) {
      causes->held = std::exchange(causes->dirty, {});
    }
    --queued_;
    ++processing_;
    Record(HistoryKind::kHandedOut, item->key());
    if (sharded_) {
      busy_[shard] = !WQ_MUTANT(two_of_a_shard);
    }
    if (stuck_after_us_ > 0) {
      held_.Insert(item, now.steady_us);
    }
    if (limits_.any()) {
      BeginTurn(*item, now);
    }
  }
  return item;
}

bool QueueState::Done(std::string_view key, Time now) noexcept {
  Item* item = items_.Find(key);
  if (item == nullptr || !item->processing()) {
    return false;
  }
  Record(HistoryKind::kDone, key);
  item->deaths = 0;
  const bool deleted = item->deleted;
  EndProcessing(item);
  ++dones_;
  if (ItemCauses* causes = causes_.Find(*item); causes != nullptr) {
    causes->held = {};
    causes_.Trim(item);
  }
  if (item->state == KeyState::kProcessingDirty) {
    const uint64_t old_sequence = item->sequence;
    Enqueue(item, item->lane);
    RewritePending(item, item->lane, old_sequence);
  } else {
    if (!deleted && (item->delay != nullptr || resync_.period.count() > 0)) {
      ResyncLater(item, now);
    }
    Clean(item);
  }
  return true;
}

void QueueState::EndProcessing(Item* item) {
  --processing_;
  if (stuck_after_us_ > 0) {
    held_.Erase(item);
  }
  if (limits_.any()) {
    EndTurn(*item);
  }
  item->deleted = false;
  if (sharded_) {
    busy_[item->shard] = false;
    readied_ += OrderOf(*item).Len() > 0 ? 1 : 0;  // The shard's next key may be handed out now.
  }
}

// Makes an item kClean that no worker holds any more.
void QueueState::Clean(Item* item) {
  item->state = KeyState::kClean;
  item->deaths = 0;
  if (!WQ_MUTANT(done_stays_on_disk)) {
    ErasePending(*item, item->lane, item->sequence);
  }
  ClearDirtyCauses(item);
  DropIfIdle(item);
}

// The record of the item stays, with its sequence: after a crash its place is by its age. A delay
// is merged as at an Add, and the record gets the time of an Add since Get.
bool QueueState::PutBack(std::string_view key) noexcept {
  Item* item = items_.Find(key);
  if (item == nullptr || !item->processing()) {
    return false;
  }
  PutBackItem(item, /*behind=*/false);
  return true;
}

void QueueState::PutBackItem(Item* item, bool behind) {
  Record(HistoryKind::kGivenBack, item->key());
  EndProcessing(item);
  ItemCauses* const causes = causes_.Find(*item);
  if (causes != nullptr) {  // Those of the hand-out were first. The record has both.
    const Causes since = std::exchange(causes->dirty, std::exchange(causes->held, {}));
    MergeCauses(since, &causes->dirty);
  }
  if (item->quarantined()) {
    return Clean(item);
  }
  const Lane old_lane = item->lane;
  const uint64_t old_sequence = item->sequence;
  bool put = item->state == KeyState::kProcessingDirty;
  if (merge_delays_ && item->delayed()) {
    item->lane = WantedLane(*item, {});
    put = TakeDelay(item) || put;
  }
  if (behind) {
    Enqueue(item, item->lane);
    behind_.Insert(item, item->added_at_us);
  } else {
    item->state = KeyState::kQueued;
    OrderOf(*item).PutBack(item);
    ++queued_;
    ++readied_;
  }
  if (put || behind || item->lane != old_lane) {
    RewritePending(item, old_lane, old_sequence);
  }
}

bool QueueState::PutBackDead(std::string_view key) noexcept {
  Item* item = items_.Find(key);
  if (item == nullptr || !item->processing()) {
    return false;
  }
  const bool behind = item->deaths > 0 && !WQ_MUTANT(crasher_comes_first);
  ++item->deaths;
  PutBackItem(item, behind);
  return true;
}

bool QueueState::Remove(std::string_view key) noexcept {
  Item* item = items_.Find(key);
  if (item == nullptr || !item->dirty()) {
    return false;
  }
  Record(HistoryKind::kRemoved, key);
  if (item->state == KeyState::kProcessingDirty) {
    item->state = KeyState::kProcessing;  // The record on disk is the same, but for causes.
    item->deaths = 0;
    ClearDirtyCauses(item);
  } else {
    Unqueue(item);
    DropIfIdle(item);
  }
  return true;
}

bool QueueState::Delete(std::string_view key) noexcept {
  Item* item = items_.Find(key);
  if (item == nullptr) {
    return false;
  }
  Record(HistoryKind::kRemoved, key);
  if (item->delay != nullptr) {
    DropDelay(item);
  }
  item->deleted = item->processing();
  if (item->state == KeyState::kProcessingDirty) {
    item->state = KeyState::kProcessing;  // Its record stays until Done, as after Remove.
    ClearDirtyCauses(item);
  } else if (item->state == KeyState::kQueued) {
    Unqueue(item);
  }
  if (item->failures != nullptr) {
    EraseFailures(*item);
    if (item->quarantined()) {
      by_key_.erase(item);
    } else {
      --failing_;
    }
    item->failures.reset();
  }
  DropIfIdle(item);
  return true;
}

// --- Groups ---

// Sets the group of a key that has none yet: a known item keeps the group that it has.
void QueueState::SettleGroup(Item* item, std::string_view name) {
  if (item->known()) {
    return;
  }
  groups_.Assign(item, name);
  if (sharded_) {
    item->shard = ShardOf(name.empty() ? item->key() : name, shards_);
  }
}

void QueueState::DropIfIdle(Item* item) {
  if (!item->known()) {
    groups_.Assign(item, {});
  }
  if (item->idle() && !WQ_MUTANT(keep_done_keys)) {
    WQ_CHECK(!item->unstamped, "an item dropped before the transition was stamped");
    items_.Erase(item);
  }
}

// --- Cursors ---

void QueueState::SetCursor(std::string_view name, std::string_view value) noexcept {
  cursors_.insert_or_assign(std::string(name), std::string(value));
  if (batch_ != nullptr) {
    storage::PutCursor(id_, {.name = name, .value = value}, batch_);
  }
}

bool QueueState::EraseCursor(std::string_view name) noexcept {
  const auto it = cursors_.find(name);
  if (it == cursors_.end()) {
    return false;
  }
  cursors_.erase(it);
  if (batch_ != nullptr) {
    storage::EraseCursor(id_, name, batch_);
  }
  return true;
}

}  // namespace wq
