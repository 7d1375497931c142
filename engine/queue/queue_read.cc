// The readings of a Queue: its keys, counts and cursors, and the gauges of the metrics.

#include <algorithm>
#include <utility>

#include "engine/queue/queue_impl.h"
#include "wq/clock.h"
#include "wq/queue.h"

namespace wq {

template <typename Reading>
auto Queue::Impl::Read(const Reading& reading) {
  for (;;) {
    Effects effects;
    {
      const MutexLock lock(mu);
      effects = FireDueStep();
      if (!effects.fired) {
        return reading(state);
      }
    }
    EndFiring(std::move(effects));
  }
}

const std::string& Queue::name() const { return impl_->name; }
uint32_t Queue::shards() const { return impl_->options.shards; }
Durability Queue::durability() const { return impl_->options.durability; }

// --- All keys: what is due is fired first ---

size_t Queue::Len() const {
  return impl_->Read([](const QueueState& state) { return state.Len(); });
}

QueueCounts Queue::Counts() const {
  return impl_->Read([this](const QueueState& state) {
    QueueCounts counts = state.Counts();
    if (const std::optional<int64_t> due_us = state.NextDelayDue(); due_us.has_value()) {
      counts.next_due_us = std::max<int64_t>(0, *due_us - impl_->clock->SteadyUs());
    }
    return counts;
  });
}

std::optional<int64_t> Queue::OldestAddedAtUs() const {
  const MutexLock lock(impl_->mu);
  return impl_->state.OldestAddedAtUs();
}

int64_t Queue::PausedUntilUs() const {
  return impl_->Read([](const QueueState& state) { return state.paused_until_us(); });
}

std::vector<QueuedKey> Queue::List(size_t offset, size_t limit) const {
  return impl_->Read([&](const QueueState& state) {
    std::vector<QueuedKey> keys;
    size_t at = 0;
    state.ForEachQueued([&](const Item& item) {
      if (at++ >= offset && keys.size() < limit) {
        keys.push_back({.key = std::string(item.key()),
                        .lane = item.lane,
                        .group = std::string(item.group_name())});
      }
      return keys.size() < limit;
    });
    return keys;
  });
}

Status Queue::PositionOf(std::string_view key, size_t* position, size_t max_counted) const {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  return impl_->Read([&](const QueueState& state) {
    size_t before = 0;
    bool found = false;
    const Item* const wanted = state.Find(key);
    if (wanted != nullptr && wanted->state == KeyState::kQueued && max_counted > 0) {
      state.ForEachQueued([&](const Item& item) {
        found = &item == wanted;
        before += found ? 0 : 1;
        return !found && before < max_counted;
      });
    }
    if (!found) {
      return NoSuch("not queued", key);
    }
    *position = before;
    return Status::Ok();
  });
}

// --- One key ---

uint64_t Queue::NumRequeues(std::string_view key) const {
  const MutexLock lock(impl_->mu);
  return impl_->state.NumRequeues(key);
}

bool Queue::AddedAgain(std::string_view key) const {
  const MutexLock lock(impl_->mu);
  return impl_->state.AddedAgain(key);
}

Status Queue::CausesOf(std::string_view key, Causes* causes) const {
  const bool found =
      impl_->Read([&](const QueueState& state) { return state.CausesOf(key, causes); });
  return found ? Status::Ok() : NoSuch("the key needs no work", key);
}

bool Queue::IsQuarantined(std::string_view key) const {
  const MutexLock lock(impl_->mu);
  return impl_->state.IsQuarantined(key);
}

std::vector<QuarantinedKey> Queue::Quarantined() const {
  const MutexLock lock(impl_->mu);
  return impl_->state.Quarantined();
}

// --- Limits ---

Status Queue::GetLimits(std::string_view group, GroupStatus* status) const {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  if (Status s = CheckLimits(group, {}); !s.ok()) {
    return s;
  }
  *status = impl_->Read([this, group](const QueueState& state) {
    return state.StatusOf(group, impl_->clock->SteadyUs());
  });
  return {};
}

std::map<std::string, GroupLimits> Queue::Limits() const {
  const MutexLock lock(impl_->mu);
  return impl_->state.OwnLimits();
}

// --- Cursors ---

Status Queue::GetCursor(std::string_view name, std::string* value) const {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  const MutexLock lock(impl_->mu);
  const auto& cursors = impl_->state.cursors();
  const auto it = cursors.find(name);
  if (it == cursors.end()) {
    return NoSuch("no cursor", name);
  }
  *value = it->second;
  return {};
}

std::map<std::string, std::string> Queue::Cursors() const {
  const MutexLock lock(impl_->mu);
  const auto& cursors = impl_->state.cursors();
  return {cursors.begin(), cursors.end()};
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
  const MutexLock lock(mu);
  const int64_t oldest_us = state.OldestAddedAtUs().value_or(now.wall_us);
  return {.counts = state.Counts(),
          .unfinished_us = times.SumUs(now.steady_us),
          .longest_us = times.LongestUs(now.steady_us),
          .oldest_us = std::max<int64_t>(0, now.wall_us - oldest_us)};
}

}  // namespace wq
