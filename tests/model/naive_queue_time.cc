// The part of the model for time and crashes.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/order/order.h"
#include "tests/model/naive_queue.h"

namespace wq::model {

void NaiveQueue::Fire() {
  if (paused_ && pause_ends_us_ && pause_due_us_ <= steady_us_) {
    paused_ = false;
  }
  for (;;) {
    auto next = keys_.end();
    const auto when = [](const Key& key) { return std::pair(key.delay->due_us, key.delay->place); };
    for (auto it = keys_.begin(); it != keys_.end(); ++it) {
      if (it->second.Delayed() && it->second.delay->due_us <= steady_us_ &&
          (next == keys_.end() || when(it->second) < when(next->second))) {
        next = it;
      }
    }
    if (next == keys_.end()) {
      break;
    }
    FireOne(next->first);
  }
  FireResyncs();
  WakeGroups();
}

bool NaiveQueue::IsStuck(const Key& key) const {
  const int64_t stuck_after_us = options_.stuck_after.count();
  return stuck_after_us > 0 && key.processing && key.held_since_us + stuck_after_us <= steady_us_;
}

std::string NaiveQueue::FireOne(const std::string& name) {
  Key& key = keys_[name];
  const Lane lane = key.delay->lane;
  key.delay.reset();
  const bool changed = Merge(std::exchange(key.delay_reasons, {}), &key.reasons);
  MakeDirty(name, key.Dirty() ? std::max(lane, key.lane) : lane, changed);
  return "ok";
}

// What is left of a delay, or of the pause.
int64_t NaiveQueue::LeftOf(int64_t ends_us, int64_t length_us, int64_t* begun_us) const {
  const int64_t left_us = ends_us - wall_us_;
  if (left_us <= length_us) {
    return left_us;
  }
  if (*begun_us > wall_us_ || *begun_us + length_us >= ends_us) {  // The clock was set back.
    *begun_us = wall_us_;
  }
  return *begun_us + length_us - wall_us_;
}

void NaiveQueue::RecoverDelay(Delay* delay) const {
  const int64_t left_us = LeftOf(delay->ready_at_us, delay->delay_us, &delay->begun_at_us);
  if (delay->ready_at_us - wall_us_ > delay->delay_us && left_us == delay->delay_us) {
    delay->stored_lane = delay->lane;  // Its record is written.
  }
  delay->due_us = steady_us_ + left_us;
}

void NaiveQueue::Recover() {
  calls_ = 0;
  listing_ = false;
  source_written_ = 0;
  for (auto& [_, object] : objects_) {
    object.owed = false;
    object.seen = false;
  }
  passed_.clear();
  lower_.clear();
  turns_.clear();
  lane_times_.clear();
  for (auto& [name, key] : keys_) {
    key.QueueAt(key.place);
    key.queued = (key.queued || key.processing) && !key.quarantined;
    key.processing = key.again = key.deleted = false;
    key.deaths = 0;
    const std::vector<std::string> since = std::exchange(key.reasons, {});
    key.reasons = std::exchange(key.held_reasons, {});
    Merge(since, &key.reasons);
    if (!key.queued) {
      key.reasons.clear();
    }
    key.written = 0;
    key.added_at_us = key.stored_at_us;
    if (key.quarantined) {
      key.lane = HasLane(key.stored_lane) ? key.stored_lane : kFastLane;
    }
    if (key.delay) {
      key.delay->written = 0;
      key.delay->lane = HasLane(key.delay->stored_lane) ? key.delay->stored_lane : kFastLane;
      RecoverDelay(&*key.delay);
    }
  }
  std::vector<Entry*> delayed;
  for (Entry& entry : keys_) {
    if (entry.second.delay) {
      delayed.push_back(&entry);
    }
  }
  std::stable_sort(delayed.begin(), delayed.end(), [](const Entry* a, const Entry* b) {
    return a->second.delay->ready_at_us < b->second.delay->ready_at_us;
  });
  for (Entry* entry : delayed) {
    entry->second.delay->place = ++last_place_;
  }
  if (pause_ends_us_) {
    pause_due_us_ = steady_us_ + LeftOf(*pause_ends_us_, paused_for_us_, &paused_at_us_);
  }
  gates_.clear();
  for (const Entry* entry : delayed) {
    gates_[BandOf(entry->second.delay->delay_us)].earned_us = steady_us_;
  }
  fired_us_ = steady_us_;  // No token is waited for.
  flows_.clear();
  of_queue_ = options_.limits;
  of_groups_ = options_.group_limits;
  const std::vector<const Entry*> pending = Pending();
  for (const Entry* entry : pending) {
    passed_[ShardOf(entry->first)] = PassedAtStart(options_.starvation_bound, wall_us_);
  }
  for (const Entry* entry : pending) {
    if (HasLane(entry->second.lane)) {
      TakeTurn(entry->first);
    }
  }
  MoveToLanes(pending);
  // The first turn of a lower lane is that of the one with the oldest key.
  std::map<uint32_t, std::map<Lane, uint64_t, std::greater<>>>
      oldest;  // Places, by shard and lane.
  for (const auto& [name, key] : keys_) {
    if (key.queued) {
      uint64_t& place = oldest[ShardOf(name)].emplace(key.lane, key.place).first->second;
      place = std::min(place, key.place);
    }
  }
  for (const auto& [shard, lanes] : oldest) {
    const auto first =
        std::min_element(std::next(lanes.begin()), lanes.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (first != lanes.end()) {
      lower_[shard] = std::prev(first)->first;
    }
  }
}

// --- Reopening ---

bool NaiveQueue::HasLane(Lane lane) const {
  switch (options_.order) {
    case Order::kFifo:
      return lane == kFastLane;
    case Order::kTwoLanes:
      return lane == kFastLane || lane == kSlowLane;
    case Order::kPriorities:
      return true;
    case Order::kLanes:
    case Order::kFair:
      return lane == kFastLane ||
             std::find(options_.lanes.begin(), options_.lanes.end(), lane) != options_.lanes.end();
  }
  return false;
}

// Keys of a lane that the order lacks move to the back of kFastLane.
void NaiveQueue::MoveToLanes(const std::vector<const Entry*>& pending) {
  for (const Entry* entry : pending) {
    Key& key = keys_[entry->first];
    if (!HasLane(key.lane)) {
      key.lane = kFastLane;
      key.QueueAt(++last_place_);
      TakeTurn(entry->first);
    }
  }
}

void NaiveQueue::BeginReopening(const Call& call) {
  const uint64_t calls = calls_;
  if (call.op == Op::kDeleteQueue) {
    NaiveQueue made(first_options_, wall_us_);
    made.options_ = options_;
    made.steady_us_ = steady_us_;
    *this = std::move(made);
  } else {
    options_ = OptionsOf(first_options_, call.reopening);
  }
  Recover();
  calls_ = calls;
}

}  // namespace wq::model
