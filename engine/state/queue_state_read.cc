// The part of QueueState that only reads: the state of a key, counts and listings.

#include "engine/state/queue_state.h"

namespace wq {

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
  for (const auto& [_, band] : resyncs_) {
    counts.resyncs += band.keys.size();
  }
  counts.delayed = delays_.size() + counts.resyncs;
  counts.failing = failing_;
  counts.quarantined = by_key_.size();
  counts.stuck = held_.passed();
  counts.held_back = HeldBack();
  counts.paused = paused_;
  counts.adds = adds_;
  counts.dones = dones_;
  counts.failures = failures_;
  counts.full = full_;
  return counts;
}

bool QueueState::ForEachLane(LanePlace* place, size_t max,
                             const std::function<void(Lane, const LaneItems&)>& visit) const {
  for (; place->shard < orders_.size(); ++place->shard, place->above.reset()) {
    const bool ended =
        orders_[place->shard]->ForEachLane(place->above, [&](Lane lane, const LaneItems& items) {
          if (max == 0) {
            return false;
          }
          --max;
          place->above = lane;
          visit(lane, items);
          return true;
        });
    if (!ended) {
      return true;
    }
  }
  return false;
}

void QueueState::ForEachQueued(const std::function<bool(const Item&)>& visit) const {
  const auto each_lane = [&visit](Lane, const LaneItems& items) { return items.ForEach(visit); };
  for (const auto& order : orders_) {
    if (!order->ForEachLane(std::nullopt, each_lane)) {
      return;
    }
  }
}

}  // namespace wq
