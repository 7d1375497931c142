// The half of QueueState that faces the disk: the mutations of its transitions, and recovery.

#include <algorithm>
#include <string>

#include "engine/queue_state.h"
#include "storage/check.h"
#include "wq/keys.h"

namespace wq {

// --- Mutations ---

void QueueState::Stamp(Position position) {
  for (Position* slot : unstamped_) {
    *slot = position;
  }
  unstamped_.clear();
}

uint64_t QueueState::NextSequence() {
  if (next_sequence_ >= sequence_high_water_) {
    // One record for a whole block of sequences; a crash skips what was left of the block.
    sequence_high_water_ = next_sequence_ + storage::kSequencesPerBlock;
    if (batch_ != nullptr) {
      storage::PutQueueState(config_.id, {.sequence_high_water = sequence_high_water_}, batch_);
    }
  }
  return next_sequence_++;
}

void QueueState::PutPending(Item* item) {
  if (batch_ != nullptr) {
    storage::PutPending(config_.id,
                        {.key = item->key(),
                         .lane = item->lane,
                         .sequence = item->sequence,
                         .added_at_us = item->added_at_us},
                        batch_);
    unstamped_.push_back(&item->position);
  }
}

void QueueState::ErasePending(const Item& item, Lane lane, uint64_t sequence) {
  if (batch_ != nullptr) {
    storage::ErasePending(config_.id, lane, sequence, item.key(), batch_);
  }
}

// The item's lane or sequence changed: moves its record along.
void QueueState::RewritePending(Item* item, Lane old_lane, uint64_t old_sequence) {
  if (item->lane != old_lane || !storage::SamePlace(item->sequence, old_sequence)) {
    ErasePending(*item, old_lane, old_sequence);
  }
  PutPending(item);
}

void QueueState::PutDelayed(DelayEntry* entry) {
  if (batch_ != nullptr) {
    storage::PutDelayed(config_.id,
                        {.key = entry->item->key(),
                         .ready_at_us = entry->ready_at_us,
                         .delay_us = entry->delay_us,
                         .added_at_us = entry->added_at_us,
                         .lane = entry->lane},
                        batch_);
    unstamped_.push_back(&entry->position);
  }
}

void QueueState::EraseDelayed(const DelayEntry& entry) {
  if (batch_ != nullptr) {
    storage::EraseDelayed(config_.id, entry.ready_at_us, entry.item->key(), batch_);
  }
}

void QueueState::PutFailures(const Item& item) {
  if (batch_ != nullptr) {
    storage::PutFailures(config_.id,
                         {.key = item.key(),
                          .count = item.failures->count,
                          .first_at_us = item.failures->first_at_us,
                          .last_at_us = item.failures->last_at_us,
                          .last_error = item.failures->last_error},
                         batch_);
  }
}

// --- Recovery ---

void QueueState::RestoreState(const storage::QueueStateRecord& record) {
  // What was left of the last block is skipped: a sequence is never handed out twice.
  sequence_high_water_ = record.sequence_high_water;
  next_sequence_ = std::max<uint64_t>(1, sequence_high_water_);
}

Status QueueState::RestorePending(const storage::PendingRecord& record) {
  if (record.sequence >= sequence_high_water_) {
    return Status::Corruption("the sequence of pending key '" + EscapeKey(record.key) +
                              "' is above the queue's high-water mark");
  }
  Item* item = items_.FindOrInsert(record.key);
  if (item->state != KeyState::kClean) {
    return Status::Corruption("key '" + EscapeKey(record.key) + "' is pending twice");
  }
  item->lane = record.lane;
  item->sequence = record.sequence;
  item->added_at_us = record.added_at_us;
  item->state = KeyState::kQueued;
  if (order_->HasLane(item->lane)) {
    order_->Push(item);
  } else {
    displaced_.push_back(item);
  }
  return {};
}

Status QueueState::RestoreDelayed(const storage::DelayedRecord& record, Time now) {
  Item* item = items_.FindOrInsert(record.key);
  if (item->delay != nullptr) {
    return Status::Corruption("key '" + EscapeKey(record.key) + "' is delayed twice");
  }
  if (record.delay_us < 0 || record.delay_us > kMaxDelay.count()) {
    return Status::Corruption("the delay of key '" + EscapeKey(record.key) + "' is out of range");
  }
  // The wall clock may have been set back meanwhile: wait at most the delay that was asked for. One
  // that is overdue keeps its distance, so that the order of ready times holds.
  int64_t left_us = 0;
  if (__builtin_sub_overflow(record.ready_at_us, now.wall_us, &left_us)) {
    left_us = record.ready_at_us < now.wall_us ? -kMaxDelay.count() : record.delay_us;
  }
  left_us = std::clamp<int64_t>(left_us, -kMaxDelay.count(), record.delay_us);
  item->delay = std::make_unique<DelayEntry>();
  DelayEntry* entry = item->delay.get();
  entry->item = item;
  entry->due_us = now.steady_us + left_us;
  entry->ready_at_us = record.ready_at_us;
  entry->delay_us = record.delay_us;
  entry->added_at_us = record.added_at_us;
  entry->lane = order_->HasLane(record.lane) ? record.lane : kFastLane;
  delays_.Push(entry);
  return {};
}

Status QueueState::RestoreFailures(const storage::FailureRecord& record) {
  if (record.count == 0) {
    return Status::Corruption("the failures of key '" + EscapeKey(record.key) + "' count none");
  }
  Item* item = items_.FindOrInsert(record.key);
  WQ_CHECK(item->failures == nullptr, "two failure records of one key");  // Keyed by it on disk.
  item->failures = std::make_unique<FailureEntry>();
  item->failures->count = record.count;
  item->failures->first_at_us = record.first_at_us;
  item->failures->last_at_us = record.last_at_us;
  item->failures->last_error = record.last_error;
  ++failing_;
  return {};
}

void QueueState::FinishRestore() {
  for (Item* item : displaced_) {
    const Lane old_lane = item->lane;
    const uint64_t old_sequence = item->sequence;
    Enqueue(item, kFastLane);
    RewritePending(item, old_lane, old_sequence);
  }
  displaced_.clear();
}

}  // namespace wq
