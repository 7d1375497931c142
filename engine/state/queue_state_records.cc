// The part of QueueState that writes records: the mutations of the transitions, and the image.

#include <string>
#include <string_view>

#include "base/causes.h"
#include "engine/state/queue_state.h"

namespace wq {
namespace {

storage::PendingRecord PendingRecordOf(const Item& item, std::string_view causes) {
  return {.key = item.key(),
          .lane = item.lane,
          .sequence = item.sequence,
          .added_at_us = item.added_at_us,
          .group = item.group_name(),
          .causes = causes};
}

storage::DelayedRecord DelayedRecordOf(const DelayEntry& entry, std::string_view causes) {
  return {.key = entry.item->key(),
          .ready_at_us = entry.ready_at_us,
          .delay_us = entry.delay_us,
          .added_at_us = entry.added_at_us,
          .lane = entry.lane,
          .group = entry.item->group_name(),
          .causes = causes,
          .debounced = entry.debounced,
          .resync = entry.resync};
}

// To the column family quarantine or failures.
void PutFailuresOf(storage::QueueId id, const Item& item, storage::MutationBatch* batch) {
  const storage::FailureRecord record{.key = item.key(),
                                      .count = item.failures->count,
                                      .first_at_us = item.failures->first_at_us,
                                      .last_at_us = item.failures->last_at_us,
                                      .last_error = item.failures->last_error};
  if (item.quarantined()) {
    storage::PutQuarantine(id,
                           {.failures = record,
                            .quarantined_at_us = item.failures->quarantined_at_us,
                            .lane = item.failures->lane,
                            .group = item.group_name()},
                           batch);
  } else {
    storage::PutFailures(id, record, batch);
  }
}

}  // namespace

storage::QueueStateRecord QueueState::StateRecord() const {
  return {.sequence_high_water = sequence_high_water_,
          .limiter_state = limiter_state_,
          .paused = paused_,
          .paused_until_us = paused_until_us_,
          .shards = shards_on_disk_,
          .pause_us = pause_us_,
          .paused_at_us = paused_at_us_};
}

std::string QueueState::EncodePendingCauses(const Item& item) const {
  const ItemCauses* const found = causes_.Find(item);
  Causes both = found->held;
  MergeCauses(found->dirty, &both);
  return storage::EncodeCauses(both);
}

std::string QueueState::DelayedCauses(const DelayEntry& entry) const {
  const ItemCauses* const found = causes_.Find(*entry.item);
  return found == nullptr ? std::string() : storage::EncodeCauses(found->delayed);
}

void QueueState::AppendImage(storage::MutationBatch* batch) const {
  storage::PutQueueState(id_, StateRecord(), batch);
  items_.ForEach([this, batch](const Item& item) {
    if (item.state != KeyState::kClean) {
      storage::PutPending(id_, PendingRecordOf(item, PendingCauses(item)), batch);
    }
    if (item.delay != nullptr) {
      storage::PutDelayed(id_, DelayedRecordOf(*item.delay, DelayedCauses(*item.delay)), batch);
    }
    if (item.failures != nullptr) {
      PutFailuresOf(id_, item, batch);
    }
  });
  for (const auto& [name, value] : cursors_) {
    storage::PutCursor(id_, {.name = name, .value = value}, batch);
  }
}

void QueueState::Stamp(Position position) noexcept {
  stamped_ = position;
  for (Item* const item : unstamped_) {
    item->position = position;
    item->unstamped = false;
  }
  unstamped_.clear();
  for (DelayEntry* const entry : unstamped_delays_) {
    entry->position = position;
  }
  unstamped_delays_.clear();
  row_change_ = {};
}

uint64_t QueueState::NextSequence() {
  if (next_sequence_ >= sequence_high_water_) {
    // One record for a whole block of sequences; a crash skips the rest of the block.
    sequence_high_water_ = next_sequence_ + storage::kSequencesPerBlock;
    PutState();
  }
  return next_sequence_++;
}

void QueueState::PutState() {
  if (batch_ != nullptr) {
    storage::PutQueueState(id_, StateRecord(), batch_);
  }
}

void QueueState::AppendPending(Item* item) {
  storage::PutPending(id_, PendingRecordOf(*item, PendingCauses(*item)), batch_);
  item->unstamped = true;
  unstamped_.push_back(item);
}

void QueueState::ErasePending(const Item& item, Lane lane, uint64_t sequence) {
  if (batch_ != nullptr) {
    storage::ErasePending(id_, lane, sequence, item.key(), batch_);
    row_change_.put_at = item.position;
  }
}

// Moves the record after a change of the item's lane or sequence.
void QueueState::RewritePending(Item* item, Lane old_lane, uint64_t old_sequence) {
  if (item->lane != old_lane || !storage::SamePlace(item->sequence, old_sequence)) {
    ErasePending(*item, old_lane, old_sequence);
  }
  PutPending(item);
}

void QueueState::PutDelayed(DelayEntry* entry) {
  if (batch_ != nullptr) {
    storage::PutDelayed(id_, DelayedRecordOf(*entry, DelayedCauses(*entry)), batch_);
    unstamped_delays_.push_back(entry);
  }
}

void QueueState::EraseDelayed(const DelayEntry& entry) {
  if (batch_ != nullptr) {
    storage::EraseDelayed(id_, entry.ready_at_us, entry.item->key(), batch_);
  }
}

void QueueState::PutFailures(const Item& item) {
  if (batch_ != nullptr) {
    PutFailuresOf(id_, item, batch_);
  }
}

void QueueState::EraseFailures(const Item& item) {
  if (batch_ == nullptr) {
    return;
  }
  if (item.quarantined()) {
    storage::EraseQuarantine(id_, item.key(), batch_);
  } else {
    storage::EraseFailures(id_, item.key(), batch_);
  }
}

}  // namespace wq
