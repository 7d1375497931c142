#include "engine/state/queue_state.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/mutant.h"

namespace wq {
namespace {

// `by_us` after `us`; a wall clock may say anything, so at most the end of time. REQUIRES: by_us >= 0.
int64_t Later(int64_t us, int64_t by_us) {
  int64_t later_us = 0;
  return __builtin_add_overflow(us, by_us, &later_us) ? std::numeric_limits<int64_t>::max()
                                                      : later_us;
}

}  // namespace

QueueState::QueueState(storage::QueueId id, const QueueOptions& options,
                       storage::MutationBatch* batch)
    : id_(id),
      add_cancels_delay_(options.add_cancels_delay),
      sharded_(options.shards > 0),
      re_add_(options.re_add),
      max_requeues_(options.max_requeues),
      quarantined_add_(options.quarantined_add),
      batch_(batch) {
  const uint32_t orders = std::max<uint32_t>(1, options.shards);
  for (uint32_t i = 0; i < orders; ++i) {
    orders_.push_back(MakeOrder(options));
  }
  busy_.resize(orders);
}

// --- Add, Get, Done ---

QueueState::Added QueueState::Add(std::string_view key, const Wanted& wanted, int64_t wall_us) {
  Item* item = items_.FindOrInsert(key);
  if (item->quarantined()) {
    if (quarantined_add_ == QuarantinedAdd::kHold) {
      return {AddOutcome::kHeld, 0};
    }
    ReleaseItem(item);
  }
  SettleGroup(item, wanted.group);
  const Lane lane = wanted.lane.value_or(item->present_lane());
  if (add_cancels_delay_ && item->delay != nullptr) {
    DropDelay(item);
  }
  return MarkDirty(item, lane, wall_us);
}

// The column "Add" of the table in queue.h.
QueueState::Added QueueState::MarkDirty(Item* item, Lane lane, int64_t wall_us) {
  switch (item->state) {
    case KeyState::kClean:
      ++adds_;
      item->added_at_us = wall_us;
      Enqueue(item, lane);
      PutPending(item);
      row_change_.is_new = true;  // A clean key has no record.
      return {AddOutcome::kAdded, 0};
    case KeyState::kProcessing:
      // The record of the key that is processing stands for this Add too: a crash makes it dirty.
      ++adds_;
      item->state = KeyState::kProcessingDirty;
      item->added_at_us = wall_us;
      Touch(item, lane);
      return {AddOutcome::kAdded, item->position};
    case KeyState::kQueued:
    case KeyState::kProcessingDirty:
      Touch(item, lane);
      return {AddOutcome::kDeduplicated, item->position};
  }
  WQ_CHECK(false, "a key in no state");
}

// -> kQueued, at the back of the lane, with a new sequence.
void QueueState::Enqueue(Item* item, Lane lane) {
  item->lane = lane;
  item->sequence = NextSequence();
  item->state = KeyState::kQueued;
  OrderOf(*item).Push(item);
  ++queued_;
  ++readied_;
}

// kQueued -> kClean.
void QueueState::Unqueue(Item* item) {
  OrderOf(*item).Remove(item);
  --queued_;
  item->state = KeyState::kClean;
  ErasePending(*item, item->lane, item->sequence);
}

// A dirty key was added again, to `lane`.
void QueueState::Touch(Item* item, Lane lane) {
  const Lane old_lane = item->lane;
  const uint64_t old_sequence = item->sequence;
  if (item->state == KeyState::kQueued) {
    if (!OrderOf(*item).Touch(item, lane)) {
      return;
    }
    item->sequence = NextSequence();
  } else if (lane != old_lane && (re_add_ == ReAdd::kSetsLane || lane > old_lane)) {
    item->lane = lane;  // Remembered; its place in the lane comes with Done.
  } else {
    return;
  }
  RewritePending(item, old_lane, old_sequence);
}

const Item* QueueState::Get(uint32_t shard) {
  if (paused_ || busy_[shard]) {
    return nullptr;
  }
  Item* item = orders_[shard]->Pop();
  if (item != nullptr) {
    items_.Prefetch(*item);  // Done may follow soon.
    if (WQ_MUTANT(drop_processing)) {
      ErasePending(*item, item->lane, item->sequence);
    }
    item->state = KeyState::kProcessing;
    --queued_;
    ++processing_;
    busy_[shard] = sharded_ && !WQ_MUTANT(two_of_a_shard);
  }
  return item;
}

bool QueueState::Done(std::string_view key) {
  Item* item = items_.Find(key);
  if (item == nullptr || !item->processing()) {
    return false;
  }
  --processing_;
  ++dones_;
  busy_[item->shard] = false;
  if (sharded_ && OrderOf(*item).Len() > 0) {
    ++readied_;  // The next key of the shard was only waiting for this one.
  }
  if (item->state == KeyState::kProcessingDirty) {
    const uint64_t old_sequence = item->sequence;
    Enqueue(item, item->lane);
    RewritePending(item, item->lane, old_sequence);
  } else {
    item->state = KeyState::kClean;
    if (!WQ_MUTANT(done_stays_on_disk)) {
      ErasePending(*item, item->lane, item->sequence);
    }
    DropIfIdle(item);
  }
  return true;
}

bool QueueState::Remove(std::string_view key) {
  Item* item = items_.Find(key);
  if (item == nullptr || !item->dirty()) {
    return false;
  }
  if (item->state == KeyState::kProcessingDirty) {
    item->state = KeyState::kProcessing;  // On disk it looks the same.
  } else {
    Unqueue(item);
    DropIfIdle(item);
  }
  return true;
}

// --- Delays ---

QueueState::Added QueueState::AddAfter(std::string_view key, int64_t delay_us, const Wanted& wanted,
                                       Time now) {
  if (delay_us <= 0) {
    return Add(key, wanted, now.wall_us);
  }
  Item* item = items_.FindOrInsert(key);
  if (item->quarantined()) {
    if (quarantined_add_ == QuarantinedAdd::kHold) {
      return {AddOutcome::kHeld, 0};
    }
    ReleaseItem(item);
  }
  return Delay(item, delay_us, wanted, now);
}

QueueState::Added QueueState::Delay(Item* item, int64_t delay_us, const Wanted& wanted, Time now) {
  SettleGroup(item, wanted.group);
  if (WQ_MUTANT(second_early)) {
    delay_us = std::max<int64_t>(0, delay_us - 1'000'000);
  }
  const int64_t due_us = now.steady_us + delay_us;
  DelayEntry* entry = item->delay.get();
  // The earlier one wins.
  if (entry != nullptr && (entry->due_us <= due_us) != WQ_MUTANT(latest_wins)) {
    if (wanted.lane.has_value() && *wanted.lane != entry->lane) {
      entry->lane = *wanted.lane;
      PutDelayed(entry);
    }
    return {AddOutcome::kDeduplicated, entry->position};
  }
  const Lane lane = wanted.lane.value_or(item->present_lane());
  if (entry != nullptr) {
    DropDelay(item);
  }
  item->delay = delay_entries_.Make();
  entry = item->delay.get();
  entry->item = item;
  entry->due_us = due_us;
  entry->ready_at_us = Later(now.wall_us, delay_us);
  entry->delay_us = delay_us;
  entry->added_at_us = now.wall_us;
  entry->lane = lane;
  delays_.Push(entry);
  PutDelayed(entry);
  return {AddOutcome::kAdded, 0};
}

bool QueueState::CancelDelay(std::string_view key) {
  Item* item = items_.Find(key);
  if (item == nullptr || item->delay == nullptr) {
    return false;
  }
  DropDelay(item);
  DropIfIdle(item);
  return true;
}

bool QueueState::EndDelay(std::string_view key, Time now) {
  Item* item = items_.Find(key);
  if (item == nullptr || item->delay == nullptr) {
    return false;
  }
  Fire(item, now.wall_us);
  return true;
}

size_t QueueState::FireDue(Time now, size_t limit) {
  size_t fired = 0;
  if (paused_ && paused_until_us_ != 0 && pause_due_us_ <= now.steady_us) {
    Resume();
    ++fired;
  }
  for (; fired < limit; ++fired) {
    const DelayEntry* entry = delays_.Due(now.steady_us);
    if (entry == nullptr) {
      break;
    }
    Fire(entry->item, now.wall_us);
  }
  return fired;
}

void QueueState::Fire(Item* item, int64_t wall_us) {
  const Lane lane = item->delay->lane;
  DropDelay(item);
  // A reminder may raise a key that was added meanwhile, but not put it behind where it is.
  MarkDirty(item, item->state == KeyState::kClean ? lane : std::max(lane, item->lane), wall_us);
}

std::optional<int64_t> QueueState::NextDue() const {
  std::optional<int64_t> due_us;
  if (!delays_.empty()) {
    due_us = delays_.NextDueUs();
  }
  if (paused_ && paused_until_us_ != 0) {
    due_us = std::min(due_us.value_or(pause_due_us_), pause_due_us_);
  }
  return due_us;
}

void QueueState::DropDelay(Item* item) {
  EraseDelayed(*item->delay);
  delays_.Remove(std::move(item->delay));
}

// --- Groups ---

// A key keeps its group as long as the queue knows it; a new one takes that of this call.
void QueueState::SettleGroup(Item* item, std::string_view name) {
  if (item->known()) {
    return;
  }
  groups_.Assign(item, name);
  if (sharded_) {
    item->shard = ShardOf(name.empty() ? item->key() : name, static_cast<uint32_t>(orders_.size()));
  }
}

void QueueState::DropIfIdle(Item* item) {
  if (!item->known()) {
    groups_.Assign(item, {});
  }
  if (item->idle() && !WQ_MUTANT(keep_done_keys)) {
    WQ_CHECK(unstamped_.empty(), "an item dropped before the transition was stamped");
    items_.Erase(item);
  }
}

// --- Pausing ---

void QueueState::Pause(std::optional<int64_t> duration_us, Time now) {
  paused_ = true;
  paused_until_us_ =
      duration_us.has_value() ? std::max<int64_t>(1, Later(now.wall_us, *duration_us)) : 0;
  pause_due_us_ = now.steady_us + duration_us.value_or(0);
  PutState();
}

void QueueState::Resume() {
  if (!paused_) {
    return;
  }
  paused_ = false;
  paused_until_us_ = 0;
  readied_ += queued_;
  PutState();
}

// --- Readings ---

bool QueueState::Knows(std::string_view key) const {
  const Item* item = items_.Find(key);
  return item != nullptr && item->known();
}

uint64_t QueueState::NumRequeues(std::string_view key) const {
  const Item* item = items_.Find(key);
  return item == nullptr || item->failures == nullptr ? 0 : item->failures->count;
}

bool QueueState::AddedAgain(std::string_view key) const {
  const Item* item = items_.Find(key);
  return item != nullptr && item->state == KeyState::kProcessingDirty;
}

bool QueueState::IsProcessing(std::string_view key) const {
  const Item* item = items_.Find(key);
  return item != nullptr && item->processing();
}

bool QueueState::IsQuarantined(std::string_view key) const {
  const Item* item = items_.Find(key);
  return item != nullptr && item->quarantined();
}

QueueCounts QueueState::Counts() const {
  QueueCounts counts;
  counts.queued = queued_;
  counts.processing = processing_;
  counts.delayed = delays_.size();
  counts.failing = failing_;
  counts.quarantined = quarantined_;
  counts.paused = paused_;
  counts.adds = adds_;
  counts.dones = dones_;
  counts.failures = failures_;
  for (const auto& order : orders_) {
    order->ForEachLane([&counts](Lane lane, size_t items) { counts.lanes[lane] += items; });
  }
  return counts;
}

std::optional<int64_t> QueueState::OldestAddedAtUs() const {
  std::optional<int64_t> oldest_us;
  for (const auto& order : orders_) {
    order->ForEachFront([&oldest_us](const Item& item) {
      oldest_us = std::min(oldest_us.value_or(item.added_at_us), item.added_at_us);
    });
  }
  return oldest_us;
}

void QueueState::ForEachQueued(const std::function<bool(const Item&)>& visit) const {
  bool go_on = true;
  for (size_t i = 0; i < orders_.size() && go_on; ++i) {
    orders_[i]->ForEach([&](const Item& item) { return go_on = visit(item); });
  }
}

}  // namespace wq
