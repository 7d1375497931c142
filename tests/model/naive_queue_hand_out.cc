// The naive queue's handing out: shards, lanes, turns of groups; and how workers end.

#include <algorithm>
#include <utility>

#include "tests/model/naive_queue.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace wq::model {

uint32_t NaiveQueue::ShardOf(const std::string& name) const {
  if (options_.shards == 0) {
    return 0;
  }
  const std::string& group = keys_.at(name).group.empty() ? name : keys_.at(name).group;
  return static_cast<uint32_t>(XXH3_64bits(group.data(), group.size()) % options_.shards);
}

void NaiveQueue::Enqueue(const std::string& name, Lane lane) {
  Key& key = keys_[name];
  key.queued = true;
  key.lane = lane;
  key.QueueAt(++last_place_);
  Write(&key);
  TakeTurn(name);
}

// The group of a queued key has a turn in its lane.
void NaiveQueue::TakeTurn(const std::string& name) {
  const Key& key = keys_[name];
  const TurnKey turn = {ShardOf(name), key.lane, key.group};
  if (!turns_.contains(turn)) {
    LaneTime& lane = TimeOf(ShardOf(name), key.lane);
    turns_[turn] = {lane.time + 1, ++lane.last};
  }
}

void NaiveQueue::Dequeue(const std::string& name) {
  Key& key = keys_[name];
  const uint32_t shard = ShardOf(name);
  key.queued = false;
  const auto same = [&](const Key& other) {
    return other.group == key.group && other.lane == key.lane;
  };
  if (Oldest(shard, same) == nullptr) {
    turns_.erase({shard, key.lane, key.group});
  }
}

// The first among the matching queued keys of the shard.
NaiveQueue::Entry* NaiveQueue::Oldest(uint32_t shard,
                                      const std::function<bool(const Key&)>& matches) {
  Entry* oldest = nullptr;
  for (Entry& entry : keys_) {
    if (entry.second.queued && ShardOf(entry.first) == shard && matches(entry.second) &&
        (oldest == nullptr || entry.second.rank < oldest->second.rank)) {
      oldest = &entry;
    }
  }
  return oldest;
}

// The key that is handed out if the lane is served; nullptr: no group with keys there is open.
NaiveQueue::Entry* NaiveQueue::Front(uint32_t shard, Lane lane) {
  if (options_.order != Order::kFair) {
    return Oldest(shard,
                  [&](const Key& key) { return key.lane == lane && !GroupClosed(key.group); });
  }
  const std::pair<const TurnKey, Turn>* first = nullptr;
  for (const auto& turn : turns_) {
    const auto& [in_shard, in_lane, group] = turn.first;
    const auto rank = [](const Turn& t) { return std::pair(t.time, t.since); };
    if (in_shard == shard && in_lane == lane && !GroupClosed(group) &&
        (first == nullptr || rank(turn.second) < rank(first->second))) {
      first = &turn;
    }
  }
  return first == nullptr ? nullptr : Oldest(shard, [&](const Key& key) {
    return key.lane == lane && key.group == std::get<std::string>(first->first);
  });
}

NaiveQueue::Entry* NaiveQueue::Next(uint32_t shard) {
  std::set<Lane, std::greater<>> lanes;
  for (const auto& [name, key] : keys_) {
    if (key.queued && ShardOf(name) == shard) {
      lanes.insert(key.lane);
    }
  }
  std::vector<Entry*> fronts;  // Of the higher lanes first.
  for (const Lane lane : lanes) {
    if (Entry* const front = Front(shard, lane); front != nullptr) {
      fronts.push_back(front);
    }
  }
  if (fronts.empty()) {
    return nullptr;
  }
  if (options_.starvation_bound > 0 && fronts.size() > 1) {
    if (++passed_[shard] >= options_.starvation_bound) {
      passed_[shard] = 0;
      auto next = fronts.begin() + 1;
      if (const auto last = lower_.find(shard); last != lower_.end()) {
        next = std::find_if(next, fronts.end(), [&last](const Entry* front) {
          return front->second.lane < last->second;
        });
      }
      next = next == fronts.end() ? fronts.begin() + 1 : next;
      lower_[shard] = (*next)->second.lane;
      return *next;
    }
  } else if (lanes.size() == 1 || fronts.front()->second.lane != *lanes.begin()) {
    passed_[shard] = 0;
  }
  return fronts.front();
}

std::string NaiveQueue::Get(uint32_t shard) {
  if (paused_ || Closed("")) {
    return "none";
  }
  for (const auto& [name, key] : keys_) {
    if (options_.shards > 0 && key.processing && ShardOf(name) == shard) {
      return "none";
    }
  }
  Entry* next = Next(shard);
  if (next == nullptr) {
    return "none";
  }
  Key& key = next->second;
  LaneTime& lane = TimeOf(shard, key.lane);
  Turn& turn = turns_[{shard, key.lane, key.group}];
  lane.time = std::max(lane.time, turn.time);
  turn = {turn.time + 1, ++lane.last};
  Dequeue(next->first);
  key.processing = true;
  key.held_since_us = steady_us_;
  key.held_reasons = std::exchange(key.reasons, {});
  TakeToken("");
  if (!key.group.empty()) {
    TakeToken(key.group);
  }
  return next->first;
}

std::string NaiveQueue::Done(const std::string& name) {
  Key& key = keys_[name];
  if (!key.processing) {
    return "NotProcessing";
  }
  Reopen([&key] { key.processing = false; });
  key.deaths = 0;
  key.held_reasons.clear();
  const bool deleted = std::exchange(key.deleted, false);
  if (std::exchange(key.again, false)) {
    Enqueue(name, key.lane);
  } else if (!deleted) {
    ResyncLater(name);
  }
  return "ok";
}

// "key@lane/group=failures" of each key.
std::string NaiveQueue::TryGet(uint32_t shard, uint64_t limit) {
  std::string text;
  for (uint64_t i = 0; i < limit; ++i) {
    const std::string name = Get(shard);
    if (name == "none") {
      break;
    }
    const Key& key = keys_[name];
    text += name + "@" + std::to_string(key.lane) + "/" + key.group + "=" +
            std::to_string(key.failures);
    for (const std::string& reason : key.held_reasons) {
      text += "," + reason;
    }
    text += " ";
  }
  return text.empty() ? "none" : text;
}

// The key goes to the front of its lane, and its group is served next.
std::string NaiveQueue::PutBack(const std::string& name, bool behind) {
  Key& key = keys_[name];
  if (!key.processing) {
    return "NotProcessing";
  }
  const Lane lane = key.lane;
  const Lane merged = WantedLane(key, std::nullopt);
  Reopen([&key] { key.processing = false; });
  key.deleted = false;
  bool rewritten = std::exchange(key.again, false);
  const std::vector<std::string> since = std::exchange(key.reasons, {});
  key.reasons = std::exchange(key.held_reasons, {});
  Merge(since, &key.reasons);
  if (key.quarantined) {
    key.reasons.clear();
  }
  if (options_.merge_delays && key.Delayed()) {
    key.lane = merged;
    key.delay.reset();
    rewritten =
        Merge(std::exchange(key.delay_reasons, {}), &key.reasons) || rewritten || key.lane != lane;
  }
  if (key.quarantined) {
    key.deaths = 0;
    return "ok";
  }
  if (behind) {
    Enqueue(name, key.lane);
    return "ok";
  }
  if (rewritten) {
    Write(&key);
  }
  key.queued = true;
  key.rank = -++given_back_;
  const uint32_t shard = ShardOf(name);
  LaneTime& times = TimeOf(shard, key.lane);
  turns_.erase({shard, key.lane, key.group});
  uint64_t first = times.time;
  for (const auto& [turn, value] : turns_) {
    if (std::get<0>(turn) == shard && std::get<1>(turn) == key.lane &&
        !GroupClosed(std::get<std::string>(turn))) {
      first = std::min(first, value.time);
    }
  }
  turns_[{shard, key.lane, key.group}] = {first, -++times.last};
  return "ok";
}

// Each third death in a row is a failure; from the second on the key is behind the others.
std::string NaiveQueue::PutBackDead(const Call& call) {
  Key& key = keys_[call.key];
  if (!key.processing || key.quarantined) {
    return PutBack(call.key);
  }
  const uint64_t deaths = ++key.deaths;
  if (deaths % 3 != 0) {
    return PutBack(call.key, deaths > 1);
  }
  Call failure = call;
  failure.op = Op::kAddRateLimited;
  AddRateLimited(failure);
  Done(call.key);
  key.deaths = key.quarantined ? 0 : deaths;
  return "ok";
}

}  // namespace wq::model
