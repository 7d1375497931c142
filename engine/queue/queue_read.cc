// The readings of a Queue that take one hold of its lock, or a few if it has very many lanes:
// counts, one key, one cursor, and the gauges of the metrics. queue_list.cc has the listings,
// queue_scan.cc the search.

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/order/lane_counts.h"
#include "engine/queue/queue_impl.h"
#include "wq/clock.h"
#include "wq/queue.h"

namespace wq {

const std::string& Queue::name() const { return impl_->name; }
uint32_t Queue::shards() const { return impl_->options.shards; }
Durability Queue::durability() const { return impl_->options.durability; }

// --- All keys: what is due is fired first ---

size_t Queue::Len() const {
  return impl_->Read([](const QueueState& state) { return state.Len(); });
}

// What the lanes hold, read in pieces.
class Queue::Impl::LaneReading {
 public:
  LaneReading() { lanes_.reserve(kPieceLanes); }

  // Under the queue's lock, again and again while it returns true.
  bool Read(const QueueState& state) {
    NoteOldest(state.OldestBehindUs());
    return state.ForEachLane(&place_, kPieceLanes, [this](Lane lane, const LaneItems& items) {
      NoteOldest(items.Oldest().added_at_us);
      lanes_.emplace_back(lane, items.size());
    });
  }
  // Before the next Read, without the lock: room for what it appends.
  void Grow() { lanes_.reserve(std::max(lanes_.size() + kPieceLanes, lanes_.capacity())); }

  void Fill(QueueCounts* counts) {
    std::sort(lanes_.begin(), lanes_.end());  // A lane is there once for each shard.
    size_t last = 0;
    for (size_t i = 1; i < lanes_.size(); ++i) {
      if (lanes_[i].first == lanes_[last].first) {
        lanes_[last].second += lanes_[i].second;
      } else {
        lanes_[++last] = lanes_[i];
      }
    }
    lanes_.resize(std::min(lanes_.size(), last + 1));
    counts->lanes = MostKeys(std::move(lanes_), &counts->other_lanes);
    counts->oldest_added_at_us = oldest_us_;
  }

 private:
  void NoteOldest(std::optional<int64_t> added_us) {
    if (added_us.has_value()) {
      oldest_us_ = std::min(oldest_us_.value_or(*added_us), *added_us);
    }
  }

  static constexpr size_t kPieceLanes = 1000;
  QueueState::LanePlace place_;
  std::vector<std::pair<Lane, size_t>> lanes_;
  std::optional<int64_t> oldest_us_;
};

// Reads the lanes that are left.
void Queue::Impl::ReadLanes(LaneReading* lanes) const {
  for (bool more = true; more;) {
    lanes->Grow();
    const MutexLock lock(mu);
    more = lanes->Read(*state);
  }
}

QueueCounts Queue::Counts() const {
  Impl::LaneReading lanes;
  bool more = false;
  QueueCounts counts = impl_->Read([&](const QueueState& state) {
    QueueCounts now = state.Counts();
    const Time time = impl_->clock->Now();
    if (const std::optional<int64_t> due_us = state.NextDelayDue(); due_us.has_value()) {
      now.next_due_us = std::max<int64_t>(0, *due_us - time.steady_us);
    }
    now.paused_until_us = state.PausedUntilUs(time);
    more = lanes.Read(state);
    return now;
  });
  if (more) {
    impl_->ReadLanes(&lanes);
  }
  lanes.Fill(&counts);
  return counts;
}

// --- One key ---

uint64_t Queue::NumRequeues(std::string_view key) const {
  const MutexLock lock(impl_->mu);
  return impl_->state->NumRequeues(key);
}

bool Queue::AddedAgain(std::string_view key) const {
  const MutexLock lock(impl_->mu);
  return impl_->state->AddedAgain(key);
}

Status Queue::CausesOf(std::string_view key, Causes* causes) const {
  const bool found =
      impl_->Read([&](const QueueState& state) { return state.CausesOf(key, causes); });
  return found ? Status::Ok() : NoSuch("the key needs no work", key);
}

bool Queue::IsQuarantined(std::string_view key) const {
  const MutexLock lock(impl_->mu);
  return impl_->state->IsQuarantined(key);
}

// --- Cursors ---

Status Queue::GetCursor(std::string_view name, std::string* value) const {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  const MutexLock lock(impl_->mu);
  const auto& cursors = impl_->state->cursors();
  const auto it = cursors.find(name);
  if (it == cursors.end()) {
    return NoSuch("no cursor", name);
  }
  *value = it->second;
  return {};
}

// --- Gauges ---

void Queue::Impl::ShowGauges() {
  if (metrics != nullptr) {
    metrics->Show([this] { return ReadGauges(); });
  }
}

void Queue::Impl::HideGauges() {
  if (metrics != nullptr) {
    metrics->Hide();
  }
}

// Fires nothing, unlike the other readings: EndFiring may wait for the disk, and metrics have to
// work while the store has failed. A due key is counted as delayed until the timer has fired it.
QueueReading Queue::Impl::ReadGauges() const {
  const Time now = clock->Now();
  LaneReading lanes;
  QueueReading reading;
  bool more = false;
  {
    const MutexLock lock(mu);
    reading = {.counts = state->Counts(),
               .unfinished_us = times.SumUs(now.steady_us),
               .longest_us = times.LongestUs(now.steady_us),
               .sources = ReadSources()};
    more = lanes.Read(*state);
  }
  if (more) {
    ReadLanes(&lanes);
  }
  lanes.Fill(&reading.counts);
  reading.oldest_us =
      std::max<int64_t>(0, now.wall_us - reading.counts.oldest_added_at_us.value_or(now.wall_us));
  return reading;
}

}  // namespace wq
