// The part of QueueState that depends on time: delays and pauses, and firing them when they are
// due.

#include <algorithm>
#include <limits>
#include <utility>

#include "base/causes.h"
#include "base/mutant.h"
#include "engine/state/queue_state.h"

namespace wq {
namespace {

// us + by_us; the largest time if that overflows, as a wall clock may have any value.
// REQUIRES: by_us >= 0.
int64_t Later(int64_t us, int64_t by_us) {
  int64_t later_us = 0;
  return __builtin_add_overflow(us, by_us, &later_us) ? std::numeric_limits<int64_t>::max()
                                                      : later_us;
}

}  // namespace

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
    Record(HistoryKind::kReleased, key);
  }
  const bool dirty = merge_delays_ && item->dirty();
  const Added added = Delay(item, delay_us, wanted, now);
  if (!dirty) {  // Otherwise it was an Add, which is recorded.
    const bool delayed = added.outcome == AddOutcome::kAdded;
    Record(delayed ? HistoryKind::kDelayed : HistoryKind::kDeduplicated, key,
           delayed ? delay_us : 0);
  }
  return added;
}

QueueState::Added QueueState::Delay(Item* item, int64_t delay_us, const Wanted& wanted, Time now,
                                    bool failed) {
  SettleGroup(item, wanted.group);
  if (merge_delays_ && item->dirty()) {
    return AddItem(item, wanted, now.wall_us, failed);
  }
  if (WQ_MUTANT(second_early)) {
    delay_us = std::max<int64_t>(0, delay_us - 1'000'000);
  }
  const int64_t due_us = now.steady_us + delay_us;
  const Lane lane = WantedLane(*item, wanted);
  const bool put = MergeWanted(item, &ItemCauses::delayed, wanted, failed);
  DelayEntry* entry = item->delay.get();
  // The earlier one wins.
  if (entry != nullptr && (entry->due_us <= due_us) != WQ_MUTANT(latest_wins)) {
    const bool moves = wanted.lane.has_value() && lane != entry->lane;
    if (moves) {
      entry->lane = lane;
    }
    if (moves || put) {
      PutDelayed(entry);
    }
    return {AddOutcome::kDeduplicated, entry->position};
  }
  if (entry != nullptr) {
    EraseDelayed(*entry);
    delays_.Remove(std::move(item->delay));  // Its causes are those of the next one, too.
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
  Record(HistoryKind::kRemoved, key);
  DropDelay(item);
  DropIfIdle(item);
  return true;
}

bool QueueState::EndDelay(std::string_view key, Time now) {
  Item* item = items_.Find(key);
  if (item == nullptr || item->delay == nullptr) {
    return false;
  }
  Record(HistoryKind::kRequeued, key);
  Fire(item, now.wall_us);
  return true;
}

QueueState::Added QueueState::Fire(Item* item, int64_t wall_us) {
  const Lane lane = item->delay->lane;
  const bool put = TakeDelay(item);
  // A delay that ends may raise the lane of a dirty key, but never lowers it.
  return MarkDirty(item, item->dirty() ? std::max(lane, item->lane) : lane, wall_us, put);
}

void QueueState::DropDelay(Item* item) {
  EraseDelayed(*item->delay);
  delays_.Remove(std::move(item->delay));
  if (ItemCauses* causes = causes_.Find(*item); causes != nullptr) {
    causes->delayed = {};
    causes_.Trim(item);
  }
}

bool QueueState::TakeDelay(Item* item) {
  ItemCauses* const causes = causes_.Find(*item);
  const bool put =
      causes != nullptr && MergeCauses(std::exchange(causes->delayed, {}), &causes->dirty);
  DropDelay(item);
  return put;
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

// --- What is due ---

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
    Item* const item = entry->item;
    static_cast<void>(RecordAdd(item->key(), Fire(item, now.wall_us)));
  }
  return fired;
}

std::optional<int64_t> QueueState::NextDelayDue() const {
  return delays_.empty() ? std::nullopt : std::optional<int64_t>(delays_.NextDueUs());
}

std::optional<int64_t> QueueState::FirstDue() const {
  std::optional<int64_t> due_us;
  if (!delays_.empty()) {
    due_us = delays_.NextDueUs();
  }
  if (paused_ && paused_until_us_ != 0) {
    due_us = std::min(due_us.value_or(pause_due_us_), pause_due_us_);
  }
  return due_us;
}

}  // namespace wq
