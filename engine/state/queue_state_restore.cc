// The part of QueueState that rebuilds it from the records of the store.

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/mutant.h"
#include "engine/state/queue_state.h"
#include "wq/keys.h"

namespace wq {
namespace {

Status Contradiction(std::string_view key, std::string_view what) {
  std::string message = "key '";
  message.append(EscapeKey(key)).append("' ").append(what);
  return Status::Corruption(std::move(message));
}

// How long to wait for `at_us`, wall time, at most `longest_us`. Negative: it is over so long.
int64_t TimeLeft(int64_t at_us, int64_t wall_us, int64_t longest_us) {
  int64_t left_us = 0;
  if (__builtin_sub_overflow(at_us, wall_us, &left_us)) {
    left_us = at_us < wall_us ? -kMaxDelay.count() : longest_us;
  }
  return std::clamp<int64_t>(left_us, -kMaxDelay.count(), longest_us);
}

}  // namespace

void QueueState::RestoreState(const storage::QueueStateRecord& record, Time now) {
  // What was left of the last block is skipped: a sequence is never handed out twice.
  sequence_high_water_ = record.sequence_high_water;
  next_sequence_ = WQ_MUTANT(reuse_sequences) ? 1 : std::max<uint64_t>(1, sequence_high_water_);
  limiter_state_ = record.limiter_state;
  shards_on_disk_ = record.shards;
  paused_ = record.paused;
  paused_until_us_ = record.paused ? record.paused_until_us : 0;
  pause_due_us_ = now.steady_us + TimeLeft(paused_until_us_, now.wall_us, kMaxDelay.count());
}

Status QueueState::RestoreQuarantine(const storage::QuarantineRecord& record) {
  Item* item = items_.FindOrInsert(record.failures.key);
  WQ_CHECK(item->failures == nullptr, "two quarantine records of one key");  // Keyed by it on disk.
  SettleGroup(item, record.group);
  item->failures = std::make_unique<FailureEntry>();
  item->failures->quarantined = true;
  item->failures->quarantined_at_us = record.quarantined_at_us;
  item->failures->lane = HasLane(record.lane) ? record.lane : kFastLane;
  item->failures->count = record.failures.count;
  item->failures->first_at_us = record.failures.first_at_us;
  item->failures->last_at_us = record.failures.last_at_us;
  item->failures->last_error = record.failures.last_error;
  ++quarantined_;
  return {};
}

Status QueueState::RestorePending(const storage::PendingRecord& record) {
  if (record.sequence >= sequence_high_water_) {
    return Contradiction(record.key, "has a sequence above the queue's high-water mark");
  }
  Item* item = items_.FindOrInsert(record.key);
  if (item->state != KeyState::kClean) {
    return Contradiction(record.key, "is pending twice");
  }
  if (item->quarantined()) {
    // Its worker had not called Done yet, or that was not written yet.
    ErasePending(*item, record.lane, record.sequence);
    return {};
  }
  SettleGroup(item, record.group);
  item->lane = WQ_MUTANT(forget_lane) ? kFastLane : record.lane;
  item->sequence = record.sequence;
  item->added_at_us = record.added_at_us;
  item->state = KeyState::kQueued;
  ++queued_;
  if (HasLane(item->lane)) {
    OrderOf(*item).Push(item);
  } else {
    displaced_.push_back(item);
  }
  return {};
}

Status QueueState::RestoreDelayed(const storage::DelayedRecord& record, Time now) {
  Item* item = items_.FindOrInsert(record.key);
  if (item->delay != nullptr) {
    return Contradiction(record.key, "is delayed twice");
  }
  if (item->quarantined()) {
    return Contradiction(record.key, "is delayed and quarantined");
  }
  if (record.delay_us < 0 || record.delay_us > kMaxDelay.count()) {
    return Contradiction(record.key, "has a delay that is out of range");
  }
  SettleGroup(item, record.group);
  item->delay = delay_entries_.Make();
  DelayEntry* entry = item->delay.get();
  entry->item = item;
  // The wall clock may have been set back meanwhile: wait at most the delay that was asked for. One
  // that is overdue keeps its distance, so that the order of ready times holds.
  entry->due_us = now.steady_us + TimeLeft(record.ready_at_us, now.wall_us, record.delay_us);
  entry->ready_at_us = record.ready_at_us;
  entry->delay_us = record.delay_us;
  entry->added_at_us = record.added_at_us;
  entry->lane = HasLane(record.lane) ? record.lane : kFastLane;
  delays_.Push(entry);
  return {};
}

Status QueueState::RestoreFailures(const storage::FailureRecord& record) {
  if (record.count == 0) {
    return Contradiction(record.key, "has failures that count none");
  }
  Item* item = items_.FindOrInsert(record.key);
  if (item->failures != nullptr) {
    return Contradiction(record.key, "is both failing and quarantined");
  }
  FailureEntry* entry = Failures(item);
  entry->count = record.count;
  entry->first_at_us = record.first_at_us;
  entry->last_at_us = record.last_at_us;
  entry->last_error = record.last_error;
  return {};
}

void QueueState::RestoreCursor(const storage::CursorRecord& record) {
  cursors_.emplace(record.name, record.value);
}

void QueueState::FinishRestore() {
  for (Item* item : displaced_) {
    const Lane old_lane = item->lane;
    const uint64_t old_sequence = item->sequence;
    --queued_;
    Enqueue(item, kFastLane);
    RewritePending(item, old_lane, old_sequence);
  }
  displaced_.clear();
  if (sharded_ && shards_on_disk_ != orders_.size()) {
    shards_on_disk_ = static_cast<uint32_t>(orders_.size());
    PutState();
  }
}

}  // namespace wq
