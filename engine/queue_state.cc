#include "engine/queue_state.h"

#include <algorithm>
#include <utility>

#include "storage/check.h"

namespace wq {
namespace {

// At most kMaxErrorBytes of `error`, not ending inside a UTF-8 sequence.
std::string_view BoundError(std::string_view error) {
  if (error.size() <= kMaxErrorBytes) {
    return error;
  }
  size_t end = kMaxErrorBytes;
  while (end > 0 && (static_cast<unsigned char>(error[end]) & 0xC0U) == 0x80U) {
    --end;
  }
  return error.substr(0, end);
}

// The lane that a key has already, whatever it is known for.
Lane PresentLane(const Item& item) {
  if (item.state != KeyState::kClean) {
    return item.lane;
  }
  return item.delay != nullptr ? item.delay->lane : kFastLane;
}

}  // namespace

QueueState::QueueState(const Config& config, storage::MutationBatch* batch)
    : config_(config), batch_(batch), order_(MakeOrder(config.order)) {
  WQ_CHECK(order_ != nullptr, "an order that does not exist");
}

// --- Add, Get, Done ---

QueueState::Added QueueState::Add(std::string_view key, std::optional<Lane> lane, int64_t wall_us) {
  Item* item = items_.FindOrInsert(key);
  const Lane settled = lane.value_or(PresentLane(*item));
  if (config_.add_cancels_delay && item->delay != nullptr) {
    DropDelay(item);
  }
  return MarkDirty(item, settled, wall_us);
}

// The column "Add" of the table in queue.h.
QueueState::Added QueueState::MarkDirty(Item* item, Lane lane, int64_t wall_us) {
  switch (item->state) {
    case KeyState::kClean:
      item->added_at_us = wall_us;
      Enqueue(item, lane);
      PutPending(item);
      return {AddOutcome::kAdded, 0};
    case KeyState::kProcessing:
      // The record of the key that is processing stands for this Add too: a crash makes it dirty.
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
  order_->Push(item);
  ++pushes_;
}

// A dirty key was added again, to `lane`.
void QueueState::Touch(Item* item, Lane lane) {
  const Lane old_lane = item->lane;
  const uint64_t old_sequence = item->sequence;
  if (item->state == KeyState::kQueued) {
    if (!order_->Touch(item, lane)) {
      return;
    }
    item->sequence = NextSequence();
  } else if (lane != old_lane) {
    item->lane = lane;  // Remembered; its place in the lane comes with Done.
  } else {
    return;
  }
  RewritePending(item, old_lane, old_sequence);
}

const Item* QueueState::Get() {
  Item* item = order_->Pop();
  if (item != nullptr) {
    item->state = KeyState::kProcessing;
    ++processing_;
  }
  return item;
}

bool QueueState::Done(std::string_view key) {
  Item* item = items_.Find(key);
  if (item == nullptr || !item->processing()) {
    return false;
  }
  --processing_;
  if (item->state == KeyState::kProcessingDirty) {
    const uint64_t old_sequence = item->sequence;
    Enqueue(item, item->lane);
    RewritePending(item, item->lane, old_sequence);
  } else {
    item->state = KeyState::kClean;
    ErasePending(*item, item->lane, item->sequence);
    DropIfIdle(item);
  }
  return true;
}

// --- Delays and failures ---

QueueState::Added QueueState::AddAfter(std::string_view key, int64_t delay_us,
                                       std::optional<Lane> lane, Time now) {
  if (delay_us <= 0) {
    return Add(key, lane, now.wall_us);
  }
  return Delay(items_.FindOrInsert(key), delay_us, lane, now);
}

QueueState::Added QueueState::Delay(Item* item, int64_t delay_us, std::optional<Lane> lane,
                                    Time now) {
  const int64_t due_us = now.steady_us + delay_us;
  DelayEntry* entry = item->delay.get();
  if (entry != nullptr && entry->due_us <= due_us) {  // The earlier one wins.
    if (lane.has_value() && *lane != entry->lane) {
      entry->lane = *lane;
      PutDelayed(entry);
    }
    return {AddOutcome::kDeduplicated, entry->position};
  }
  const Lane settled = lane.value_or(PresentLane(*item));
  if (entry != nullptr) {
    DropDelay(item);
  }
  item->delay = std::make_unique<DelayEntry>();
  entry = item->delay.get();
  entry->item = item;
  entry->due_us = due_us;
  entry->ready_at_us = now.wall_us + delay_us;
  entry->delay_us = delay_us;
  entry->added_at_us = now.wall_us;
  entry->lane = settled;
  delays_.Push(entry);
  PutDelayed(entry);
  return {AddOutcome::kAdded, 0};
}

void QueueState::AddRateLimited(std::string_view key, int64_t delay_us, std::string_view error,
                                std::optional<Lane> lane, Time now) {
  Item* item = items_.FindOrInsert(key);
  if (item->failures == nullptr) {
    item->failures = std::make_unique<FailureEntry>();
    item->failures->first_at_us = now.wall_us;
    ++failing_;
  }
  ++item->failures->count;
  item->failures->last_at_us = now.wall_us;
  item->failures->last_error = BoundError(error);
  PutFailures(*item);
  if (delay_us <= 0) {
    MarkDirty(item, lane.value_or(PresentLane(*item)), now.wall_us);
  } else {
    Delay(item, delay_us, lane, now);
  }
}

void QueueState::Forget(std::string_view key) {
  Item* item = items_.Find(key);
  if (item == nullptr || item->failures == nullptr) {
    return;
  }
  item->failures.reset();
  --failing_;
  if (batch_ != nullptr) {
    storage::EraseFailures(config_.id, key, batch_);
  }
  DropIfIdle(item);
}

size_t QueueState::FireDue(Time now, size_t limit) {
  size_t fired = 0;
  for (; fired < limit && !delays_.empty() && delays_.top()->due_us <= now.steady_us; ++fired) {
    Item* item = delays_.top()->item;
    const Lane lane = item->delay->lane;
    DropDelay(item);
    // A reminder may raise a key that was added meanwhile, but not put it behind where it is.
    MarkDirty(item, item->state == KeyState::kClean ? lane : std::max(lane, item->lane),
              now.wall_us);
  }
  return fired;
}

std::optional<int64_t> QueueState::NextDue() const {
  return delays_.empty() ? std::nullopt : std::optional(delays_.top()->due_us);
}

void QueueState::DropDelay(Item* item) {
  delays_.Remove(item->delay.get());
  EraseDelayed(*item->delay);
  item->delay.reset();
}

void QueueState::DropIfIdle(Item* item) {
  if (item->idle()) {
    WQ_CHECK(unstamped_.empty(), "an item dropped before the transition was stamped");
    items_.Erase(item);
  }
}

// --- Readings ---

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

QueueCounts QueueState::Counts() const {
  QueueCounts counts;
  counts.queued = Len();
  counts.processing = processing_;
  counts.delayed = delays_.size();
  counts.failing = failing_;
  order_->ForEachLane([&counts](Lane lane, size_t items) { counts.lanes[lane] = items; });
  return counts;
}

}  // namespace wq
