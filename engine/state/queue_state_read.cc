// The part of QueueState that only reads: the state of a key, counts and listings.

#include <algorithm>

#include "engine/state/queue_state.h"

namespace wq {

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

bool QueueState::WouldBePending(std::string_view key) const {
  const Item* const item = items_.Find(key);
  if (item == nullptr) {
    return true;
  }
  return item->state == KeyState::kClean && !Holds(*item);
}

QueueCounts QueueState::Counts() const {
  QueueCounts counts;
  counts.queued = queued_;
  counts.processing = processing_;
  counts.delayed = delays_.size() + resyncs_.size();
  counts.resyncs = resyncs_.size();
  counts.failing = failing_;
  counts.quarantined = by_key_.size();
  counts.stuck = held_.passed();
  counts.held_back = HeldBack();
  counts.paused = paused_;
  counts.paused_until_us = paused_until_us();
  counts.adds = adds_;
  counts.dones = dones_;
  counts.failures = failures_;
  counts.full = full_;
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
  for (const auto& order : orders_) {
    const std::unique_ptr<OrderWalk> walk = order->Walk();
    while (const Item* const item = walk->Next()) {
      if (!visit(*item)) {
        return;
      }
    }
  }
}

}  // namespace wq
