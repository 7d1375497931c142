// The readings of a Queue that take one hold of its lock: counts, one key, one cursor, and the
// gauges of the metrics. queue_list.cc has the listings, queue_scan.cc the search.

#include <algorithm>
#include <utility>

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
  return impl_->state->OldestAddedAtUs();
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
  const MutexLock lock(mu);
  const int64_t oldest_us = state->OldestAddedAtUs().value_or(now.wall_us);
  return {.counts = state->Counts(),
          .unfinished_us = times.SumUs(now.steady_us),
          .longest_us = times.LongestUs(now.steady_us),
          .oldest_us = std::max<int64_t>(0, now.wall_us - oldest_us)};
}

}  // namespace wq
