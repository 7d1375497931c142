// The part of QueueState that depends on time: delays and pauses, and firing them when they are
// due.

#include <algorithm>
#include <limits>
#include <utility>

#include "base/causes.h"
#include "base/mutant.h"
#include "engine/state/queue_state.h"

namespace wq {

int64_t QueueState::Later(int64_t us, int64_t by_us) {
  int64_t later_us = 0;
  return __builtin_add_overflow(us, by_us, &later_us) ? std::numeric_limits<int64_t>::max()
                                                      : later_us;
}

int64_t QueueState::Earlier(int64_t us, int64_t by_us) {
  int64_t earlier_us = 0;
  return __builtin_sub_overflow(us, by_us, &earlier_us) ? std::numeric_limits<int64_t>::min()
                                                        : earlier_us;
}

// --- Delays ---

QueueState::Added QueueState::AddAfter(std::string_view key, int64_t delay_us, const Wanted& wanted,
                                       Time now) noexcept {
  if (delay_us <= 0) {
    return Add(key, wanted, now.wall_us);
  }
  Item* item = items_.FindOrInsert(key);
  if (Added left; LeavesAlone(*item, wanted, &left)) {
    return left;
  }
  SettleGroup(item, wanted.group);
  const bool merged = MergesDelay(*item, wanted);
  const Added added = Delay(item, {.delay_us = delay_us}, wanted, now);
  if (!merged) {  // Otherwise it was an Add, which is recorded.
    const bool delayed = added.outcome == AddOutcome::kAdded;
    Record(delayed ? HistoryKind::kDelayed : HistoryKind::kDeduplicated, key,
           delayed ? delay_us : 0, wanted.reason);
  }
  return added;
}

QueueState::Added QueueState::AddDebounced(std::string_view key, const Debounce& debounce,
                                           const Wanted& wanted, Time now) noexcept {
  Item* item = items_.FindOrInsert(key);
  if (item->dirty() && !wanted.if_absent) {
    return AddItem(item, wanted, now.wall_us);
  }
  if (Added left; LeavesAlone(*item, wanted, &left)) {
    return left;
  }
  SettleGroup(item, wanted.group);
  const bool waits = item->delayed();
  const DelayBy by{.delay_us = debounce.quiet.count(), .max_wait_us = debounce.max_wait.count()};
  Added added = Delay(item, by, wanted, now);
  added.outcome = waits ? AddOutcome::kDeduplicated : AddOutcome::kAdded;
  Record(waits ? HistoryKind::kDeduplicated : HistoryKind::kDelayed, key, waits ? 0 : by.delay_us,
         wanted.reason);
  return added;
}

std::optional<int64_t> QueueState::NewEnd(const DelayEntry& entry, const DelayBy& by,
                                          DelayMode mode, Time now) {
  int64_t due_us = now.steady_us + by.delay_us;
  if (entry.resync) {
    return due_us;
  }
  if (by.max_wait_us > 0) {
    if (entry.debounced) {
      const int64_t begun_us = entry.due_us - entry.delay_us;
      due_us = WQ_MUTANT(wait_for_ever) ? due_us : std::min(due_us, begun_us + by.max_wait_us);
      return entry.due_us <= now.steady_us || due_us == entry.due_us
                 ? std::nullopt
                 : std::optional(std::max(due_us, now.steady_us));
    }
    mode = DelayMode::kEarliest;
  }
  if (mode == DelayMode::kResync) {
    return std::nullopt;
  }
  const bool stays = mode == DelayMode::kEarliest ? entry.due_us <= due_us : entry.due_us == due_us;
  return stays != WQ_MUTANT(latest_wins) ? std::nullopt : std::optional(due_us);
}

QueueState::Added QueueState::Delay(Item* item, DelayBy by, const Wanted& wanted, Time now) {
  if (MergesDelay(*item, wanted)) {
    return AddItem(item, wanted, now.wall_us, by.failed);
  }
  const bool resync = wanted.delay_mode == DelayMode::kResync && by.max_wait_us == 0;
  if (resync) {
    by.delay_us = SpreadResync(item->key(), by.delay_us);
  }
  const Lane lane = resync ? wanted.lane.value_or(ResyncLane()) : WantedLane(*item, wanted);
  const bool put = MergeWanted(item, &ItemCauses::delayed, wanted, by.failed);
  EndQuarantine(item);
  DelayEntry* const entry = item->delay.get();
  DelayEntry delay{.due_us = now.steady_us + by.delay_us,
                   .delay_us = by.delay_us,
                   .lane = lane,
                   .debounced = by.max_wait_us > 0,
                   .resync = resync};
  if (WQ_MUTANT(second_early)) {
    delay.due_us = std::max(now.steady_us, delay.due_us - 1'000'000);
  }
  if (entry != nullptr) {
    const std::optional<int64_t> end_us = NewEnd(*entry, by, wanted.delay_mode, now);
    if (!end_us.has_value()) {
      const bool moves = wanted.lane.has_value() && lane != entry->lane && !resync;
      if (moves) {
        entry->lane = lane;
      }
      if (moves || put) {
        PutDelayed(entry);
      }
      return {AddOutcome::kDeduplicated, entry->position};
    }
    delay.due_us = *end_us;
    const bool begins = by.max_wait_us == 0 && wanted.delay_mode != DelayMode::kEarliest;
    if (entry->debounced && !begins) {  // It goes on, with another end.
      delay.delay_us = delay.due_us - (entry->due_us - entry->delay_us);
      delay.debounced = true;
    }
  }
  delay.ready_at_us = Later(now.wall_us, delay.due_us - now.steady_us);
  delay.added_at_us = Earlier(delay.ready_at_us, delay.delay_us);
  SetDelay(item, delay, now.steady_us);
  return {AddOutcome::kAdded, 0};
}

// Its causes are those of the delay that it replaces, too.
void QueueState::SetDelay(Item* item, const DelayEntry& wanted, int64_t steady_us) {
  if (item->delay != nullptr) {
    EraseDelayed(*item->delay);
    RemoveDelay(item);
  }
  item->delay = delay_entries_.Make();
  DelayEntry* const entry = item->delay.get();
  *entry = wanted;
  entry->item = item;
  PushDelay(entry, steady_us);
  PutDelayed(entry);
}

bool QueueState::CancelDelay(std::string_view key) noexcept {
  Item* item = items_.Find(key);
  if (item == nullptr || item->delay == nullptr) {
    return false;
  }
  Record(HistoryKind::kRemoved, key);
  DropDelay(item);
  DropIfIdle(item);
  return true;
}

bool QueueState::EndDelay(std::string_view key, Time now) noexcept {
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
  RemoveDelay(item);
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

void QueueState::Pause(std::optional<int64_t> duration_us, Time now) noexcept {
  paused_ = true;
  paused_until_us_ =
      duration_us.has_value() ? std::max<int64_t>(1, Later(now.wall_us, *duration_us)) : 0;
  pause_us_ = duration_us.value_or(0);
  paused_at_us_ = duration_us.has_value() ? now.wall_us : 0;
  pause_due_us_ = now.steady_us + duration_us.value_or(0);
  PutState();
}

void QueueState::Resume() noexcept {
  if (!paused_) {
    return;
  }
  paused_ = false;
  paused_until_us_ = pause_us_ = paused_at_us_ = 0;
  readied_ += queued_;
  PutState();
}

// --- What is due ---

size_t QueueState::FireDue(Time now, size_t limit, size_t max_bytes) noexcept {
  size_t fired = 0;
  size_t bytes = 0;
  if (!delays_stopped_ && paused_ && paused_until_us_ != 0 && pause_due_us_ <= now.steady_us) {
    Resume();
    ++fired;
  }
  while (fired < limit && bytes < max_bytes && !delays_stopped_) {
    const DelayEntry* const entry = delays_.Due(now.steady_us);
    if (entry == nullptr) {
      break;
    }
    Item* const item = entry->item;
    bytes += item->key_bytes;
    static_cast<void>(RecordAdd(item->key(), Fire(item, now.wall_us)));
    ++fired;
  }
  fired += FireResyncs(now, limit - fired, max_bytes, &bytes);
  while (fired < limit) {
    Group* const group = limits_.Wake(now.steady_us, queued_ > 0);
    if (group == nullptr) {
      break;
    }
    EndWait(group);
    ++fired;
  }
  while (fired < limit && FireStuck(now.steady_us)) {
    ++fired;
  }
  return fired;
}

bool QueueState::FireStuck(int64_t steady_us) {
  const std::optional<int64_t> since_us = held_.NextSinceUs();
  if (!since_us.has_value() || *since_us + stuck_after_us_ > steady_us) {
    return false;
  }
  held_.Pass();
  return true;
}

std::optional<int64_t> QueueState::NextDelayDue() const {
  return delays_.empty() ? std::nullopt : std::optional<int64_t>(delays_.NextDueUs());
}

std::optional<int64_t> QueueState::FirstDue() const {
  int64_t due_us = std::numeric_limits<int64_t>::max();
  if (!delays_stopped_) {
    due_us = NextDelayDue().value_or(due_us);
    due_us = std::min(due_us, NextResyncUs());
    if (paused_ && paused_until_us_ != 0) {
      due_us = std::min(due_us, pause_due_us_);
    }
  }
  if (const std::optional<int64_t> since_us = held_.NextSinceUs(); since_us.has_value()) {
    due_us = std::min(due_us, *since_us + stuck_after_us_);
  }
  due_us = std::min(due_us, limits_.NextWakeUs().value_or(due_us));
  return due_us == std::numeric_limits<int64_t>::max() ? std::nullopt : std::optional(due_us);
}

}  // namespace wq
