// The calls of a Queue beside adding and handing out: taking back, shards,
// quarantine, cursors, pausing, readings and shutting down.

#include <algorithm>
#include <utility>

#include "base/names.h"
#include "engine/queue/queue_impl.h"
#include "wq/clock.h"
#include "wq/keys.h"
#include "wq/limiter.h"
#include "wq/queue.h"

namespace wq {
namespace {

Status NoSuch(std::string_view what, std::string_view key) {
  std::string message(what);
  message.append(": '").append(EscapeKey(key)).append("'");
  return Status::NotFound(std::move(message));
}

}  // namespace

// --- Taking back ---

Status Queue::Remove(std::string_view key) {
  return impl_->Change(impl_->options.durability, [key](QueueState& state) {
    return state.Remove(key) ? Status::Ok() : NoSuch("not queued", key);
  });
}

Status Queue::CancelDelay(std::string_view key) {
  return impl_->Change(impl_->options.durability, [key](QueueState& state) {
    return state.CancelDelay(key) ? Status::Ok() : NoSuch("not delayed", key);
  });
}

Status Queue::EndDelay(std::string_view key) {
  const Time now = impl_->clock->Now();
  return impl_->Change(
      impl_->options.durability,
      [&](QueueState& state) {
        return state.EndDelay(key, now) ? Status::Ok() : NoSuch("not delayed", key);
      },
      /*adds=*/true);
}

Status Queue::Forget(std::string_view key) {
  impl_->limiter->Forget(key);
  return impl_->Change(impl_->options.durability, [key](QueueState& state) {
    state.Forget(key);
    return Status::Ok();
  });
}

// --- Shards ---

Status Queue::Join(std::unique_ptr<Worker>* worker) {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  worker->reset();
  if (!impl_->sharded) {
    return Status::InvalidArgument("queue '" + impl_->name + "' has no shards");
  }
  {
    const Impl::Lock lock(*impl_);
    worker->reset(new Worker(impl_.get(), impl_->shards.Join()));
  }
  impl_->WakeAll();  // Shards have changed hands.
  return {};
}

Worker::~Worker() {
  {
    const Queue::Impl::Lock lock(*queue_);
    queue_->shards.Leave(id_);
  }
  queue_->WakeAll();
}

Status Worker::Get(std::string* key) { return queue_->Take(id_, std::nullopt, key); }

Status Worker::GetFor(std::chrono::microseconds timeout, std::string* key) {
  return queue_->Take(id_, Queue::Impl::After(timeout), key);
}

std::vector<uint32_t> Worker::Shards() const {
  const Queue::Impl::Lock lock(*queue_);
  std::vector<uint32_t> own = queue_->shards.Shards(id_);
  std::sort(own.begin(), own.end());
  return own;
}

// --- Quarantine ---

Status Queue::Quarantine(std::string_view key, std::string_view error) {
  Status bad_key = impl_->CheckKey(key);
  const int64_t wall_us = impl_->clock->WallUs();
  return impl_->Change(impl_->options.durability, [&](QueueState& state) {
    if (!bad_key.ok() && !state.IsProcessing(key)) {
      return bad_key;
    }
    state.Quarantine(key, error, wall_us);
    return Status::Ok();
  });
}

Status Queue::Release(std::string_view key) {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  const int64_t wall_us = impl_->clock->WallUs();
  return impl_->Change(
      impl_->options.durability,
      [&](QueueState& state) {
        return state.Release(key, wall_us) ? Status::Ok() : NoSuch("not quarantined", key);
      },
      /*adds=*/true);
}

Status Queue::Drop(std::string_view key) {
  return impl_->Change(impl_->options.durability, [key](QueueState& state) {
    return state.Drop(key) ? Status::Ok() : NoSuch("not quarantined", key);
  });
}

bool Queue::IsQuarantined(std::string_view key) const {
  const Impl::Lock lock(*impl_);
  return impl_->state.IsQuarantined(key);
}

std::vector<QuarantinedKey> Queue::Quarantined() const {
  const Impl::Lock lock(*impl_);
  return impl_->state.Quarantined();
}

// --- Cursors ---

Status Queue::SetCursor(std::string_view name, std::string_view value) {
  if (Status s = CheckName("cursor", name); !s.ok()) {
    return s;
  }
  if (value.size() > kMaxCursorBytes) {
    return Status::InvalidArgument("cursor '" + std::string(name) + "' is " +
                                   std::to_string(value.size()) + " bytes long, the limit is " +
                                   std::to_string(kMaxCursorBytes));
  }
  return impl_->Change(impl_->options.durability, [&](QueueState& state) {
    state.SetCursor(name, value);
    return Status::Ok();
  });
}

Status Queue::GetCursor(std::string_view name, std::string* value) const {
  const Impl::Lock lock(*impl_);
  const auto& cursors = impl_->state.cursors();
  const auto it = cursors.find(name);
  if (it == cursors.end()) {
    return NoSuch("no cursor", name);
  }
  *value = it->second;
  return {};
}

Status Queue::EraseCursor(std::string_view name) {
  return impl_->Change(impl_->options.durability, [name](QueueState& state) {
    return state.EraseCursor(name) ? Status::Ok() : NoSuch("no cursor", name);
  });
}

std::map<std::string, std::string> Queue::Cursors() const {
  const Impl::Lock lock(*impl_);
  const auto& cursors = impl_->state.cursors();
  return {cursors.begin(), cursors.end()};
}

// --- Pausing ---

Status Queue::Pause(std::optional<std::chrono::microseconds> duration) {
  if (duration.has_value() && duration->count() <= 0) {
    return Status::InvalidArgument("a pause of " + std::to_string(duration->count()) + " us");
  }
  const Time now = impl_->clock->Now();
  return impl_->Change(impl_->options.durability, [&](QueueState& state) {
    state.Pause(
        duration.has_value() ? std::optional(std::min(*duration, kMaxDelay).count()) : std::nullopt,
        now);
    return Status::Ok();
  });
}

Status Queue::Resume() {
  return impl_->Change(impl_->options.durability, [](QueueState& state) {
    state.Resume();
    return Status::Ok();
  });
}

// --- Readings ---

uint64_t Queue::NumRequeues(std::string_view key) const {
  const Impl::Lock lock(*impl_);
  return impl_->state.NumRequeues(key);
}

bool Queue::AddedAgain(std::string_view key) const {
  const Impl::Lock lock(*impl_);
  return impl_->state.AddedAgain(key);
}

size_t Queue::Len() const {
  impl_->PromoteAll();
  const Impl::Lock lock(*impl_);
  return impl_->state.Len();
}

QueueCounts Queue::Counts() const {
  impl_->PromoteAll();
  const Impl::Lock lock(*impl_);
  return impl_->state.Counts();
}

std::vector<QueuedKey> Queue::List(size_t offset, size_t limit) const {
  impl_->PromoteAll();
  std::vector<QueuedKey> keys;
  size_t at = 0;
  const Impl::Lock lock(*impl_);
  impl_->state.ForEachQueued([&](const Item& item) {
    if (at++ >= offset && keys.size() < limit) {
      keys.push_back({.key = std::string(item.key()),
                      .lane = item.lane,
                      .group = std::string(item.group_name())});
    }
    return keys.size() < limit;
  });
  return keys;
}

Status Queue::PositionOf(std::string_view key, size_t* position) const {
  impl_->PromoteAll();
  size_t before = 0;
  bool found = false;
  const Impl::Lock lock(*impl_);
  impl_->state.ForEachQueued([&](const Item& item) {
    found = item.key() == key;
    before += found ? 0 : 1;
    return !found;
  });
  if (!found) {
    return NoSuch("not queued", key);
  }
  *position = before;
  return {};
}

const std::string& Queue::name() const { return impl_->name; }

// --- Shutting down ---

void Queue::ShutDown() { impl_->BeginShutDown(false); }

void Queue::Stop() { impl_->BeginShutDown(true); }

Status Queue::ShutDownWithDrain(std::chrono::microseconds timeout) {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  const Impl::Deadline deadline = Impl::After(timeout);
  const uint64_t release = impl_->BeginShutDown(false);
  const Impl::Lock lock(*impl_);
  for (bool in_time = true; !impl_->Drained();) {
    if (impl_->stopped || impl_->drain_release != release) {
      return Status::ShuttingDown("queue '" + impl_->name + "' was shut down during the drain");
    }
    if (!in_time) {
      return Status::TimedOut("queue '" + impl_->name + "' did not drain in time: " +
                              std::to_string(impl_->state.Len()) + " queued, " +
                              std::to_string(impl_->state.processing()) + " processing");
    }
    in_time = impl_->drain_cv.WaitUntil(impl_->mu, *deadline);
  }
  return {};
}

bool Queue::IsShuttingDown() const {
  const Impl::Lock lock(*impl_);
  return impl_->shutting_down;
}

Status Queue::Flush(Durability durability) {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  impl_->Collect();
  return impl_->journal == nullptr ? Status::Ok() : impl_->journal->Flush(durability);
}

}  // namespace wq
