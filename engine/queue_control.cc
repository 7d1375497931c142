// The calls of a Queue beside adding and handing out: taking back, shards, quarantine, cursors, pausing,
// readings and shutting down.

#include <algorithm>
#include <utility>

#include "engine/names.h"
#include "engine/queue_rep.h"
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
  return rep_->Change(rep_->options.durability, [key](QueueState& state) {
    return state.Remove(key) ? Status::Ok() : NoSuch("not queued", key);
  });
}

Status Queue::CancelDelay(std::string_view key) {
  return rep_->Change(rep_->options.durability, [key](QueueState& state) {
    return state.CancelDelay(key) ? Status::Ok() : NoSuch("not delayed", key);
  });
}

Status Queue::EndDelay(std::string_view key) {
  const Time now = rep_->clock->Now();
  {
    const Rep::Lock lock(*rep_);
    if (rep_->shutting_down) {
      return rep_->RefuseAdd();
    }
  }
  return rep_->Change(rep_->options.durability, [&](QueueState& state) {
    return state.EndDelay(key, now) ? Status::Ok() : NoSuch("not delayed", key);
  });
}

Status Queue::Forget(std::string_view key) {
  rep_->limiter->Forget(key);
  return rep_->Change(rep_->options.durability, [key](QueueState& state) {
    state.Forget(key);
    return Status::Ok();
  });
}

// --- Shards ---

Status Queue::Join(std::unique_ptr<Worker>* worker) {
  if (Status s = rep_->CheckProcess(); !s.ok()) {
    return s;
  }
  worker->reset();
  if (!rep_->sharded) {
    return Status::InvalidArgument("queue '" + rep_->name + "' has no shards");
  }
  {
    const Rep::Lock lock(*rep_);
    worker->reset(new Worker(rep_.get(), rep_->shards.Join()));
  }
  rep_->WakeAll();  // Shards have changed hands.
  return {};
}

Worker::~Worker() {
  {
    const Queue::Rep::Lock lock(*queue_);
    queue_->shards.Leave(id_);
  }
  queue_->WakeAll();
}

Status Worker::Get(std::string* key) { return queue_->Take(id_, std::nullopt, key); }

Status Worker::GetFor(std::chrono::microseconds timeout, std::string* key) {
  return queue_->Take(id_, Queue::Rep::After(timeout), key);
}

std::vector<uint32_t> Worker::Shards() const {
  const Queue::Rep::Lock lock(*queue_);
  std::vector<uint32_t> own = queue_->shards.Shards(id_);
  std::sort(own.begin(), own.end());
  return own;
}

// --- Quarantine ---

Status Queue::Quarantine(std::string_view key, std::string_view error) {
  Status bad_key = rep_->CheckKey(key);
  const int64_t wall_us = rep_->clock->WallUs();
  return rep_->Change(rep_->options.durability, [&](QueueState& state) {
    if (!bad_key.ok() && !state.IsProcessing(key)) {
      return bad_key;
    }
    state.Quarantine(key, error, wall_us);
    return Status::Ok();
  });
}

Status Queue::Release(std::string_view key) {
  if (Status s = rep_->CheckProcess(); !s.ok()) {
    return s;
  }
  const int64_t wall_us = rep_->clock->WallUs();
  {
    const Rep::Lock lock(*rep_);
    if (rep_->shutting_down) {
      return rep_->RefuseAdd();
    }
  }
  return rep_->Change(rep_->options.durability, [&](QueueState& state) {
    return state.Release(key, wall_us) ? Status::Ok() : NoSuch("not quarantined", key);
  });
}

Status Queue::Drop(std::string_view key) {
  return rep_->Change(rep_->options.durability, [key](QueueState& state) {
    return state.Drop(key) ? Status::Ok() : NoSuch("not quarantined", key);
  });
}

bool Queue::IsQuarantined(std::string_view key) const {
  const Rep::Lock lock(*rep_);
  return rep_->state.IsQuarantined(key);
}

std::vector<QuarantinedKey> Queue::Quarantined() const {
  const Rep::Lock lock(*rep_);
  return rep_->state.Quarantined();
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
  return rep_->Change(rep_->options.durability, [&](QueueState& state) {
    state.SetCursor(name, value);
    return Status::Ok();
  });
}

Status Queue::GetCursor(std::string_view name, std::string* value) const {
  const Rep::Lock lock(*rep_);
  const auto& cursors = rep_->state.cursors();
  const auto it = cursors.find(name);
  if (it == cursors.end()) {
    return NoSuch("no cursor", name);
  }
  *value = it->second;
  return {};
}

Status Queue::EraseCursor(std::string_view name) {
  return rep_->Change(rep_->options.durability, [name](QueueState& state) {
    return state.EraseCursor(name) ? Status::Ok() : NoSuch("no cursor", name);
  });
}

std::map<std::string, std::string> Queue::Cursors() const {
  const Rep::Lock lock(*rep_);
  const auto& cursors = rep_->state.cursors();
  return {cursors.begin(), cursors.end()};
}

// --- Pausing ---

Status Queue::Pause(std::optional<std::chrono::microseconds> duration) {
  if (duration.has_value() && duration->count() <= 0) {
    return Status::InvalidArgument("a pause of " + std::to_string(duration->count()) + " us");
  }
  const Time now = rep_->clock->Now();
  return rep_->Change(rep_->options.durability, [&](QueueState& state) {
    state.Pause(
        duration.has_value() ? std::optional(std::min(*duration, kMaxDelay).count()) : std::nullopt,
        now);
    return Status::Ok();
  });
}

Status Queue::Resume() {
  return rep_->Change(rep_->options.durability, [](QueueState& state) {
    state.Resume();
    return Status::Ok();
  });
}

// --- Readings ---

uint64_t Queue::NumRequeues(std::string_view key) const {
  const Rep::Lock lock(*rep_);
  return rep_->state.NumRequeues(key);
}

bool Queue::AddedAgain(std::string_view key) const {
  const Rep::Lock lock(*rep_);
  return rep_->state.AddedAgain(key);
}

size_t Queue::Len() const {
  rep_->PromoteAll();
  const Rep::Lock lock(*rep_);
  return rep_->state.Len();
}

QueueCounts Queue::Counts() const {
  rep_->PromoteAll();
  const Rep::Lock lock(*rep_);
  return rep_->state.Counts();
}

std::vector<QueuedKey> Queue::List(size_t offset, size_t limit) const {
  rep_->PromoteAll();
  std::vector<QueuedKey> keys;
  size_t at = 0;
  const Rep::Lock lock(*rep_);
  rep_->state.ForEachQueued([&](const Item& item) {
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
  rep_->PromoteAll();
  size_t before = 0;
  bool found = false;
  const Rep::Lock lock(*rep_);
  rep_->state.ForEachQueued([&](const Item& item) {
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

const std::string& Queue::name() const { return rep_->name; }

// --- Shutting down ---

void Queue::ShutDown() { rep_->BeginShutDown(false); }

void Queue::Stop() { rep_->BeginShutDown(true); }

Status Queue::ShutDownWithDrain(std::chrono::microseconds timeout) {
  if (Status s = rep_->CheckProcess(); !s.ok()) {
    return s;
  }
  const Rep::Deadline deadline = Rep::After(timeout);
  const uint64_t release = rep_->BeginShutDown(false);
  const Rep::Lock lock(*rep_);
  for (bool in_time = true; !rep_->Drained();) {
    if (rep_->stopped || rep_->drain_release != release) {
      return Status::ShuttingDown("queue '" + rep_->name + "' was shut down during the drain");
    }
    if (!in_time) {
      return Status::TimedOut(
          "queue '" + rep_->name + "' did not drain in time: " + std::to_string(rep_->state.Len()) +
          " queued, " + std::to_string(rep_->state.processing()) + " processing");
    }
    in_time = rep_->drain_cv.WaitUntil(rep_->mu, *deadline);
  }
  return {};
}

bool Queue::IsShuttingDown() const {
  const Rep::Lock lock(*rep_);
  return rep_->shutting_down;
}

Status Queue::Flush(Durability durability) {
  if (Status s = rep_->CheckProcess(); !s.ok()) {
    return s;
  }
  rep_->Collect();
  return rep_->journal == nullptr ? Status::Ok() : rep_->journal->Flush(durability);
}

}  // namespace wq
