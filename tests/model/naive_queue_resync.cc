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

int64_t NaiveQueue::BandOf(int64_t period_us) {
  int64_t power = 1;
  while (2 * power <= std::max<int64_t>(period_us, 1000)) {
    power *= 2;
  }
  return power;
}

// What a microsecond earns: the keys of the band that wait, each once in its period.
NaiveQueue::Credit NaiveQueue::Share(int64_t band) const {
  Credit share = 0;
  for (const auto& [_, key] : keys_) {
    if (key.delay && key.delay->resync && BandOf(key.delay->delay_us) == band) {
      share += kScale / std::max<int64_t>(key.delay->delay_us, 1000);
    }
  }
  return share;
}

void NaiveQueue::Earn(int64_t band) {
  Gate& gate = gates_[band];
  const Credit share = Share(band);
  gate.credit = std::min(gate.credit + Credit{steady_us_ - gate.earned_us} * share,
                         std::max<Credit>(0, Credit{5} * kTickUs * share));
  gate.earned_us = steady_us_;
}

// After this moment.
int64_t NaiveQueue::NextRoundUs(int64_t band) {
  const Credit credit = gates_[band].credit;
  const Credit share = Share(band);
  const int64_t owed_us =
      credit >= 0 || share == 0 ? 0 : static_cast<int64_t>((-credit + share - 1) / share);
  return steady_us_ + std::max(kTickUs, owed_us);
}

void NaiveQueue::SetResync(Key* key, int64_t delay_us, Lane lane) {
  const int64_t band = BandOf(delay_us);
  key->delay.reset();
  Earn(band);
  key->delay = Delay{.due_us = steady_us_ + delay_us,
                     .ready_at_us = wall_us_ + delay_us,
                     .delay_us = delay_us,
                     .lane = lane,
                     .stored_lane = lane,
                     .written = calls_,
                     .place = ++last_place_,
                     .begun_at_us = wall_us_,
                     .resync = true};
  gates_[band].next_round_us = std::min(gates_[band].next_round_us, NextRoundUs(band));
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
  // The first key of the band, if it is due.
  const auto next = [this](int64_t band) {
    std::string first;
    for (const auto& [name, key] : keys_) {
      const auto when = [](const Key& k) { return std::pair(k.delay->due_us, k.delay->place); };
      if (key.delay && key.delay->resync && key.delay->due_us <= steady_us_ &&
          BandOf(key.delay->delay_us) == band &&
          (first.empty() || when(key) < when(keys_[first]))) {
        first = name;
      }
    }
    return first;
  };
  if (std::none_of(gates_.begin(), gates_.end(), [&](const auto& gate) {
        return gate.second.next_round_us <= steady_us_ && !next(gate.first).empty();
      })) {
    return;
  }
  for (auto& [band, gate] : gates_) {
    for (;;) {
      Earn(band);
      const std::string name = next(band);
      if (gate.credit < 0 || name.empty()) {
        break;
      }
      gate.credit -= static_cast<Credit>(static_cast<double>(kScale) / 1.1);
      Key& key = keys_[name];
      if (key.queued || key.processing) {
        SetResync(&key, key.delay->delay_us, key.delay->lane);
      } else {
        FireOne(name);
      }
    }
    gate.next_round_us = NextRoundUs(band);
  }
}

}  // namespace wq::model
