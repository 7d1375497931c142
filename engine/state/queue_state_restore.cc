// Recovery of a QueueState from the records of the store.

#include <algorithm>
#include <string>
#include <string_view>

#include "base/mutant.h"
#include "engine/state/queue_state.h"
#include "storage/row_rules.h"

namespace wq {
namespace {

using storage::CheckRow;
using storage::CheckSequence;
using storage::RowPlace;
using storage::RowRule;

Status Contradiction(std::string_view key, RowRule broken) {
  return Status::Corruption(DescribeRow("key", key, broken));
}

// Which rule one more row of the item breaks, beside those that have been restored.
RowRule CheckBeside(RowPlace place, const Item& item) {
  return storage::CheckBeside(place, [&item](RowPlace other) {
    switch (other) {
      case RowPlace::kPending:
        return item.state != KeyState::kClean;
      case RowPlace::kDelayed:
        return item.delay != nullptr;
      case RowPlace::kFailures:
        return item.failures != nullptr && !item.quarantined();
      case RowPlace::kQuarantine:
        return item.quarantined();
    }
    return false;
  });
}

// The time from wall_us to at_us, at most longest_us. Negative if at_us has passed.
int64_t TimeLeft(int64_t at_us, int64_t wall_us, int64_t longest_us) {
  int64_t left_us = 0;
  if (__builtin_sub_overflow(at_us, wall_us, &left_us)) {
    left_us = at_us < wall_us ? -kMaxDelay.count() : longest_us;
  }
  return std::clamp<int64_t>(left_us, -kMaxDelay.count(), longest_us);
}

struct Left {
  int64_t us;   // Negative: it has ended already.
  bool begins;  // It begins now, and the next opening counts from here.
};

// What is left of a delay, or of a pause, of length_us. It is all if the clock says a time before
// the begin: the clock was set back. The first opening by such a clock begins it anew and makes its
// time the begin. From then on the begin is earlier than end_us says, and later openings count from
// it. (0: an import did not know it.)
Left LeftOf(int64_t end_us, int64_t length_us, int64_t begun_us, int64_t wall_us) {
  const int64_t left_us = TimeLeft(end_us, wall_us, kMaxDelay.count());
  if (left_us <= length_us) {
    return {left_us, false};
  }
  int64_t until_us = 0;
  const bool begun_anew = begun_us != 0 &&
                          !__builtin_add_overflow(begun_us, length_us, &until_us) &&
                          until_us < end_us && begun_us <= wall_us;
  const int64_t rest_us = begun_anew ? TimeLeft(until_us, wall_us, length_us) : length_us;
  return {rest_us, rest_us == length_us};
}

Left LeftOfPause(const storage::QueueStateRecord& record, int64_t wall_us) {
  const int64_t length_us = record.pause_us > 0 ? record.pause_us : kMaxDelay.count();
  return LeftOf(record.paused_until_us, length_us, record.paused_at_us, wall_us);
}

}  // namespace

int64_t QueueState::PauseEndUs(const storage::QueueStateRecord& record, int64_t wall_us) {
  return Later(wall_us, LeftOfPause(record, wall_us).us);
}

Status QueueState::RestoreState(const storage::QueueStateRecord& record, Time now) {
  if (const RowRule broken = CheckRow(record); broken != RowRule::kNone) {
    return Status::Corruption("the queue " + std::string(TextOf(broken)));
  }
  // The rest of the last block is skipped: a sequence is never handed out twice.
  sequence_high_water_ = record.sequence_high_water;
  next_sequence_ = WQ_MUTANT(reuse_sequences) ? 1 : std::max<uint64_t>(1, sequence_high_water_);
  limiter_state_ = record.limiter_state;
  shards_on_disk_ = record.shards;
  paused_ = record.paused;
  if (record.paused && record.paused_until_us != 0) {
    paused_until_us_ = record.paused_until_us;
    pause_us_ = record.pause_us;
    paused_at_us_ = record.paused_at_us;
    const Left left = LeftOfPause(record, now.wall_us);
    if (left.begins) {
      paused_at_us_ = now.wall_us;
      PutState();
    }
    pause_due_us_ = now.steady_us + left.us;
  }
  return {};
}

Status QueueState::RestoreQuarantine(const storage::QuarantineRecord& record) {
  const std::string_view key = record.failures.key;
  if (const RowRule broken = CheckRow(record); broken != RowRule::kNone) {
    return Contradiction(key, broken);
  }
  Item* item = items_.FindOrInsert(key);
  if (const RowRule broken = CheckBeside(RowPlace::kQuarantine, *item); broken != RowRule::kNone) {
    return Contradiction(key, broken);
  }
  SettleGroup(item, record.group);
  item->failures = std::make_unique<FailureEntry>();
  item->failures->quarantined = true;
  item->failures->quarantined_at_us = record.quarantined_at_us;
  item->failures->lane = HasLane(record.lane) ? record.lane : kFastLane;
  item->failures->count = record.failures.count;
  item->failures->first_at_us = record.failures.first_at_us;
  item->failures->last_at_us = record.failures.last_at_us;
  item->failures->last_error = record.failures.last_error;
  by_key_.insert(by_key_.end(), item);  // The records come in the order of their keys.
  return {};
}

Status QueueState::RestorePending(const storage::PendingRecord& record) {
  RowRule broken = CheckRow(record);
  if (broken == RowRule::kNone) {
    broken = CheckSequence(record.sequence, sequence_high_water_);
  }
  if (broken != RowRule::kNone) {
    return Contradiction(record.key, broken);
  }
  Item* item = items_.FindOrInsert(record.key);
  broken = CheckBeside(RowPlace::kPending, *item);
  if (broken != RowRule::kNone) {
    return Contradiction(record.key, broken);
  }
  SettleGroup(item, record.group);
  item->lane = WQ_MUTANT(forget_lane) ? kFastLane : record.lane;
  item->sequence = record.sequence;
  item->added_at_us = record.added_at_us;
  if (Causes causes = storage::DecodeCauses(record.causes); !causes.empty()) {
    causes_.FindOrInsert(item)->dirty = std::move(causes);
  }
  if (item->quarantined()) {
    item->state = KeyState::kProcessing;  // Until FinishRestore.
    displaced_.push_back(item);
    return {};
  }
  item->state = KeyState::kQueued;
  ++queued_;
  // An import by wq 0.1.0 could give two keys one sequence.
  const bool is_own_sequence = restored_sequences_.Insert(record.sequence);
  if (HasLane(item->lane) && is_own_sequence) {
    OrderOf(*item).Push(item);
  } else {
    displaced_.push_back(item);
  }
  return {};
}

Status QueueState::RestoreDelayed(const storage::DelayedRecord& record, Time now) {
  if (const RowRule broken = CheckRow(record); broken != RowRule::kNone) {
    return Contradiction(record.key, broken);
  }
  Item* item = items_.FindOrInsert(record.key);
  if (const RowRule broken = CheckBeside(RowPlace::kDelayed, *item); broken != RowRule::kNone) {
    return Contradiction(record.key, broken);
  }
  SettleGroup(item, record.group);
  item->delay = delay_entries_.Make();
  DelayEntry* entry = item->delay.get();
  entry->item = item;
  entry->ready_at_us = record.ready_at_us;
  entry->delay_us = std::min(record.delay_us, kMaxDelay.count());
  entry->added_at_us = record.added_at_us;
  entry->lane = HasLane(record.lane) ? record.lane : kFastLane;
  entry->debounced = record.debounced;
  entry->resync = record.resync;
  if (Causes causes = storage::DecodeCauses(record.causes); !causes.empty()) {
    causes_.FindOrInsert(item)->delayed = std::move(causes);
  }
  const Left left = LeftOf(record.ready_at_us, record.delay_us, record.added_at_us, now.wall_us);
  if (left.begins) {
    entry->added_at_us = now.wall_us;
    PutDelayed(entry);
  }
  // Also of a time that has passed: overdue keys fire in the order of their ready times.
  entry->due_us = now.steady_us + left.us;
  PushDelay(entry, now.steady_us);
  return {};
}

Status QueueState::RestoreFailures(const storage::FailureRecord& record) {
  if (const RowRule broken = CheckRow(record); broken != RowRule::kNone) {
    return Contradiction(record.key, broken);
  }
  Item* item = items_.FindOrInsert(record.key);
  if (const RowRule broken = CheckBeside(RowPlace::kFailures, *item); broken != RowRule::kNone) {
    return Contradiction(record.key, broken);
  }
  FailureEntry* entry = Failures(item);
  entry->count = record.count;
  entry->first_at_us = record.first_at_us;
  entry->last_at_us = record.last_at_us;
  entry->last_error = record.last_error;
  return {};
}

Status QueueState::RestoreCursor(const storage::CursorRecord& record) {
  if (const RowRule broken = CheckRow(record); broken != RowRule::kNone) {
    return Status::Corruption(DescribeRow("cursor", record.name, broken));
  }
  cursors_.emplace(record.name, record.value);
  return {};
}

void QueueState::FinishRestore(Time now) {
  for (Item* item : displaced_) {
    if (item->quarantined()) {
      // A worker held it and had not called Done, or that was not written.
      item->state = KeyState::kClean;
      ErasePending(*item, item->lane, item->sequence);
      ClearDirtyCauses(item);
      continue;
    }
    const Lane old_lane = item->lane;
    const uint64_t old_sequence = item->sequence;
    --queued_;
    Enqueue(item, HasLane(old_lane) ? old_lane : kFastLane);
    RewritePending(item, old_lane, old_sequence);
  }
  displaced_.clear();
  restored_sequences_ = {};
  restored_source_ = nullptr;
  for (const std::unique_ptr<LaneOrder>& order : orders_) {
    order->BeginRestored(PassedAtStart(rules_.starvation_bound, now.wall_us));
  }
  if (sharded_ && shards_on_disk_ != shards_) {
    shards_on_disk_ = shards_;
    PutState();
  }
}

}  // namespace wq
