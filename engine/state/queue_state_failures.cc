// The part of QueueState that counts failures and keeps keys in quarantine.

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/mutant.h"
#include "base/utf8.h"
#include "engine/state/queue_state.h"
#include "storage/row_rules.h"

namespace wq {

// The item's FailureEntry; makes one if it has none.
FailureEntry* QueueState::Failures(Item* item) {
  if (item->failures == nullptr) {
    item->failures = std::make_unique<FailureEntry>();
    ++failing_;
  }
  return item->failures.get();
}

QueueState::Added QueueState::AddRateLimited(std::string_view key, const Failure& failure,
                                             const Wanted& wanted, Time now) noexcept {
  if (failure.limiter_state != limiter_state_) {
    limiter_state_ = failure.limiter_state;
    PutState();
  }
  Item* item = items_.FindOrInsert(key);
  if (item->quarantined()) {
    ++held_adds_;
    return {AddOutcome::kHeld, stamped_};
  }
  Wanted retry = wanted;
  retry.delay_mode = DelayMode::kEarliest;
  SettleGroup(item, retry.group);
  FailureEntry* entry = Failures(item);
  entry->first_at_us = entry->count == 0 ? now.wall_us : entry->first_at_us;
  entry->last_at_us = now.wall_us;
  entry->last_error = CutUtf8(failure.error, kMaxErrorBytes);
  entry->count = std::min(entry->count + (WQ_MUTANT(count_twice) ? 2 : 1), storage::kMaxFailures);
  ++failures_;
  if (max_requeues_ > 0 && entry->count > max_requeues_) {
    Record(HistoryKind::kFailed, key, 0, failure.error);
    QuarantineItem(item, now);
    Record(HistoryKind::kQuarantined, key);
    return {AddOutcome::kHeld, 0};
  }
  PutFailures(*item);
  Record(HistoryKind::kFailed, key, std::max<int64_t>(0, failure.delay_us), failure.error);
  return failure.delay_us <= 0
             ? AddItem(item, retry, now.wall_us, /*failed=*/true)
             : Delay(item, {.delay_us = failure.delay_us, .failed = true}, retry, now);
}

bool QueueState::DiedBefore(std::string_view key) const {
  const Item* const item = items_.Find(key);
  return item != nullptr && item->processing() && item->deaths > 0;
}

// Deaths beyond the third are counted as the fourth and fifth, so that the count is bounded.
bool QueueState::DeathFails(std::string_view key) const {
  const Item* const item = items_.Find(key);
  return item != nullptr && item->processing() && !item->quarantined() &&
         (item->deaths == 2 || item->deaths == 5);
}

QueueState::Added QueueState::FailDead(std::string_view key, const Failure& failure,
                                       const Wanted& wanted, Time now) noexcept {
  const Added added = AddRateLimited(key, failure, wanted, now);
  Done(key, now);
  Item* const item = items_.Find(key);  // It has failed, so it is there.
  item->deaths = item->quarantined() ? 0 : 3;
  return added;
}

void QueueState::Forget(std::string_view key) noexcept {
  Item* item = items_.Find(key);
  if (item == nullptr || item->failures == nullptr || item->quarantined()) {
    return;
  }
  Record(HistoryKind::kForgotten, key);
  EraseFailures(*item);
  item->failures.reset();
  --failing_;
  DropIfIdle(item);
}

Position QueueState::Quarantine(std::string_view key, std::string_view error, Time now,
                                std::string_view group) noexcept {
  Item* item = items_.FindOrInsert(key);
  if (item->quarantined()) {
    return stamped_;
  }
  Record(HistoryKind::kQuarantined, key, 0, error);
  SettleGroup(item, group);
  FailureEntry* entry = Failures(item);
  if (!error.empty()) {
    entry->last_error = CutUtf8(error, kMaxErrorBytes);
  }
  QuarantineItem(item, now);
  return 0;
}

// REQUIRES: the item has a FailureEntry that is not quarantined.
void QueueState::QuarantineItem(Item* item, Time now) {
  const Lane lane = item->present_lane();
  if (item->delay != nullptr) {
    DropDelay(item);
  }
  if (item->state == KeyState::kQueued) {
    Unqueue(item);
  } else if (item->state == KeyState::kProcessingDirty) {
    item->state = KeyState::kProcessing;
    ClearDirtyCauses(item);
  }
  item->deaths = 0;
  EraseFailures(*item);
  --failing_;
  by_key_.insert(item);
  item->failures->quarantined = true;
  item->failures->quarantined_at_us = now.wall_us;
  item->failures->lane = lane;
  PutFailures(*item);
}

// Of an Add that the quarantine does not hold, after the item's group and lane are settled.
void QueueState::EndQuarantine(Item* item) {
  if (item->quarantined()) {
    ReleaseItem(item);
    Record(HistoryKind::kReleased, item->key());
  }
}

void QueueState::ReleaseItem(Item* item) {
  EraseFailures(*item);
  item->failures.reset();
  by_key_.erase(item);
}

bool QueueState::Release(std::string_view key, int64_t delay_us, Time now) noexcept {
  Item* item = items_.Find(key);
  if (item == nullptr || !item->quarantined()) {
    return false;
  }
  Record(HistoryKind::kReleased, key);
  const Lane lane = item->failures->lane;
  ReleaseItem(item);
  if (delay_us > 0) {
    Record(HistoryKind::kDelayed, key, delay_us);
    Delay(item, {.delay_us = delay_us}, {.lane = lane}, now);
  } else {
    MarkDirty(item, lane, now.wall_us);
  }
  return true;
}

bool QueueState::Drop(std::string_view key) noexcept {
  Item* item = items_.Find(key);
  if (item == nullptr || !item->quarantined()) {
    return false;
  }
  Record(HistoryKind::kRemoved, key);
  ReleaseItem(item);
  DropIfIdle(item);
  return true;
}

}  // namespace wq
