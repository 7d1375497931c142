// The part of the model for resyncs.

#include <algorithm>
#include <string>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tests/model/naive_queue.h"

namespace wq::model {
namespace {

constexpr int64_t kScale = int64_t{1} << 50;
constexpr int64_t kTickUs = 10'000;

}  // namespace

int64_t NaiveQueue::SpreadResync(const std::string& name, int64_t period_us) const {
  const auto most_us =
      static_cast<int64_t>(static_cast<double>(period_us) * options_.resync.jitter);
  const uint64_t hash = XXH3_64bits(name.data(), name.size());
  return period_us - most_us + static_cast<int64_t>(hash % static_cast<uint64_t>(2 * most_us + 1));
}

Lane NaiveQueue::ResyncLane() const {
  const bool has_slow =
      options_.order == Order::kTwoLanes || options_.order == Order::kPriorities ||
      std::find(options_.lanes.begin(), options_.lanes.end(), kSlowLane) != options_.lanes.end();
  return has_slow ? kSlowLane : kFastLane;
}

// What a microsecond earns: the keys that wait, each once in its period.
NaiveQueue::Credit NaiveQueue::Share() const {
  Credit share = 0;
  for (const auto& [_, key] : keys_) {
    if (key.delay && key.delay->resync) {
      share += kScale / std::max<int64_t>(key.delay->delay_us, 1000);
    }
  }
  return share;
}

void NaiveQueue::Earn() {
  credit_ = std::min(credit_ + Credit{steady_us_ - earned_us_} * Share(),
                     std::max<Credit>(0, Credit{5} * kTickUs * Share()));
  earned_us_ = steady_us_;
}

void NaiveQueue::SetResync(Key* key, int64_t delay_us, Lane lane) {
  key->delay.reset();
  Earn();
  key->delay = Delay{.due_us = steady_us_ + delay_us,
                     .ready_at_us = wall_us_ + delay_us,
                     .delay_us = delay_us,
                     .lane = lane,
                     .stored_lane = lane,
                     .written = calls_,
                     .place = ++last_place_,
                     .begun_at_us = wall_us_,
                     .resync = true};
  next_round_us_ = std::min(next_round_us_, steady_us_ + std::max(kTickUs, OwedUs()));
}

int64_t NaiveQueue::OwedUs() const {
  const Credit share = Share();
  return credit_ >= 0 || share == 0 ? 0 : static_cast<int64_t>((-credit_ + share - 1) / share);
}

void NaiveQueue::ResyncLater(const std::string& name) {
  Key& key = keys_[name];
  if (key.quarantined || key.Delayed()) {
    return;
  }
  if (key.delay) {
    const Delay old = *key.delay;
    if (steady_us_ + old.delay_us - old.due_us > old.delay_us / 10) {
      SetResync(&key, old.delay_us, old.lane);
    }
  } else if (options_.resync.period.count() > 0) {
    SetResync(&key, SpreadResync(name, options_.resync.period.count()), ResyncLane());
  }
}

void NaiveQueue::FireResyncs() {
  const auto next = [this] {
    std::string first;
    for (const auto& [name, key] : keys_) {
      const auto when = [](const Key& k) { return std::pair(k.delay->due_us, k.delay->place); };
      if (key.delay && key.delay->resync && (first.empty() || when(key) < when(keys_[first]))) {
        first = name;
      }
    }
    return first;
  };
  if (const std::string first = next();
      first.empty() || std::max(keys_[first].delay->due_us, next_round_us_) > steady_us_) {
    return;
  }
  for (;;) {
    Earn();
    const std::string name = next();
    if (credit_ < 0 || name.empty() || keys_[name].delay->due_us > steady_us_) {
      break;
    }
    credit_ -= static_cast<Credit>(static_cast<double>(kScale) / 1.1);
    Key& key = keys_[name];
    if (key.queued || key.processing) {
      SetResync(&key, key.delay->delay_us, key.delay->lane);
    } else {
      FireOne(name);
    }
  }
  next_round_us_ = steady_us_ + std::max(kTickUs, OwedUs());
}

}  // namespace wq::model
