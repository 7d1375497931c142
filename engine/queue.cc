#include "wq/queue.h"

#include <algorithm>

#include "engine/queue_rep.h"
#include "wq/clock.h"
#include "wq/keys.h"
#include "wq/limiter.h"

namespace wq {
namespace {

// Keys of an AddBatch that are added under one hold of the lock.
constexpr size_t kBatchStep = 1024;

Journal::Urgency UrgencyOf(Durability durability) {
  return durability == Durability::kAsync ? Journal::Urgency::kUrgent : Journal::Urgency::kWaited;
}

std::chrono::steady_clock::time_point DeadlineAfter(std::chrono::microseconds timeout) {
  // A century is as good as for ever, and cannot overflow.
  return std::chrono::steady_clock::now() + std::min(timeout, kMaxDelay);
}

void SetOutcome(AddOutcome outcome, AddOutcome* out) {
  if (out != nullptr) {
    *out = outcome;
  }
}

}  // namespace

Queue::Queue(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
Queue::~Queue() = default;

// --- Adding ---

Status Queue::Add(std::string_view key, const AddOptions& options, AddOutcome* outcome) {
  if (Status s = rep_->CheckKey(key); !s.ok()) {
    return s;
  }
  const Durability durability = options.durability.value_or(rep_->options.durability);
  const int64_t wall_us = rep_->clock->WallUs();
  Rep::Effects effects;
  {
    const MutexLock lock(rep_->mu);
    if (rep_->shutting_down) {
      return rep_->RefuseAdd();
    }
    if (Status s = rep_->CheckLane(options); !s.ok()) {
      return s;
    }
    const QueueState::Added added = rep_->state.Add(key, options.lane, wall_us);
    SetOutcome(added.outcome, outcome);
    effects = rep_->Finish(added.position, UrgencyOf(durability));
  }
  return rep_->Settle(effects, durability);
}

Status Queue::AddBatch(std::span<const std::string_view> keys, const AddOptions& options,
                       BatchResult* result) {
  BatchResult unwanted;
  BatchResult& out = result == nullptr ? unwanted : *result;
  out = {};
  const Durability durability = options.durability.value_or(rep_->options.durability);
  Position last = 0;  // The greatest that stands for one of the keys.
  for (size_t begin = 0; begin < keys.size(); begin += kBatchStep) {
    const size_t end = std::min(keys.size(), begin + kBatchStep);
    const int64_t wall_us = rep_->clock->WallUs();
    Rep::Effects effects;
    {
      const MutexLock lock(rep_->mu);
      if (rep_->shutting_down) {
        return rep_->RefuseAdd();
      }
      if (Status s = rep_->CheckLane(options); !s.ok()) {
        return s;
      }
      for (size_t i = begin; i < end; ++i) {
        if (Status s = rep_->CheckKey(keys[i]); !s.ok()) {
          out.refused.emplace_back(i, std::move(s));
          continue;
        }
        const QueueState::Added added = rep_->state.Add(keys[i], options.lane, wall_us);
        ++(added.outcome == AddOutcome::kAdded ? out.added : out.deduplicated);
        last = std::max(last, added.position);
      }
      effects = rep_->Finish(0, UrgencyOf(durability));
      last = std::max(last, effects.position);
    }
    // The wait for the disk is for all at the end; here only a full pipeline is waited for.
    if (Status s = rep_->Settle(effects, Durability::kAsync); !s.ok()) {
      return s;
    }
  }
  return rep_->Settle({.position = last}, durability);
}

Status Queue::AddAfter(std::string_view key, std::chrono::microseconds delay,
                       const AddOptions& options, AddOutcome* outcome) {
  if (delay.count() <= 0) {
    return Add(key, options, outcome);
  }
  if (Status s = rep_->CheckKey(key); !s.ok()) {
    return s;
  }
  const Durability durability = options.durability.value_or(rep_->options.durability);
  const int64_t delay_us = std::min(delay, kMaxDelay).count();
  const Time now = rep_->clock->Now();
  Rep::Effects effects;
  {
    const MutexLock lock(rep_->mu);
    if (rep_->closed || (rep_->shutting_down && !rep_->state.IsProcessing(key))) {
      return rep_->RefuseAdd();
    }
    if (Status s = rep_->CheckLane(options); !s.ok()) {
      return s;
    }
    const QueueState::Added added = rep_->state.AddAfter(key, delay_us, options.lane, now);
    SetOutcome(added.outcome, outcome);
    effects = rep_->Finish(added.position, UrgencyOf(durability));
  }
  return rep_->Settle(effects, durability);
}

Status Queue::AddRateLimited(std::string_view key, std::string_view error,
                             const AddOptions& options) {
  if (Status s = rep_->CheckKey(key); !s.ok()) {
    return s;
  }
  const Durability durability = options.durability.value_or(rep_->options.durability);
  // The limiter may be the caller's own: it runs outside the lock. A second failure of the same key
  // at the same time may then be given the same delay; both are counted.
  const std::chrono::microseconds wanted = rep_->limiter->When(key, NumRequeues(key));
  int64_t delay_us = std::clamp<int64_t>(wanted.count(), 0, kMaxDelay.count());
  const Time now = rep_->clock->Now();
  Rep::Effects effects;
  {
    const MutexLock lock(rep_->mu);
    if (rep_->closed || (rep_->shutting_down && !rep_->state.IsProcessing(key))) {
      return rep_->RefuseAdd();
    }
    if (Status s = rep_->CheckLane(options); !s.ok()) {
      return s;
    }
    if (rep_->shutting_down) {
      delay_us = std::max<int64_t>(delay_us, 1);  // It must stay in the store, not be handed out.
    }
    rep_->state.AddRateLimited(key, delay_us, error, options.lane, now);
    effects = rep_->Finish(0, UrgencyOf(durability));
  }
  return rep_->Settle(effects, durability);
}

Status Queue::Forget(std::string_view key) {
  const Durability durability = rep_->options.durability;
  Rep::Effects effects;
  {
    const MutexLock lock(rep_->mu);
    if (rep_->closed) {
      return rep_->RefuseAdd();
    }
    rep_->state.Forget(key);
    effects = rep_->Finish(0, UrgencyOf(durability));
  }
  return rep_->Settle(effects, durability);
}

// --- Handing out ---

Status Queue::Get(std::string* key) { return rep_->Take(std::nullopt, key); }

Status Queue::GetFor(std::chrono::microseconds timeout, std::string* key) {
  return rep_->Take(DeadlineAfter(timeout), key);
}

Status Queue::Done(std::string_view key) {
  Rep::Effects effects;
  bool drained = false;
  {
    const MutexLock lock(rep_->mu);
    if (rep_->closed) {
      return rep_->RefuseAdd();
    }
    if (!rep_->state.Done(key)) {
      return Status::NotProcessing("no worker holds key '" + EscapeKey(key) + "'");
    }
    effects = rep_->Finish(0, Journal::Urgency::kLazy);
    drained = rep_->shutting_down && rep_->Drained();
  }
  if (drained) {
    rep_->drain_cv.NotifyAll();
  }
  return rep_->Settle(effects, Durability::kAsync);
}

// --- Readings ---

uint64_t Queue::NumRequeues(std::string_view key) const {
  const MutexLock lock(rep_->mu);
  return rep_->state.NumRequeues(key);
}

bool Queue::AddedAgain(std::string_view key) const {
  const MutexLock lock(rep_->mu);
  return rep_->state.AddedAgain(key);
}

size_t Queue::Len() const {
  rep_->PromoteAll();
  const MutexLock lock(rep_->mu);
  return rep_->state.Len();
}

QueueCounts Queue::Counts() const {
  rep_->PromoteAll();
  const MutexLock lock(rep_->mu);
  return rep_->state.Counts();
}

const std::string& Queue::name() const { return rep_->name; }

// --- Shutting down ---

void Queue::ShutDown() { rep_->BeginShutDown(false); }

void Queue::Stop() { rep_->BeginShutDown(true); }

Status Queue::ShutDownWithDrain(std::chrono::microseconds timeout) {
  const auto deadline = DeadlineAfter(timeout);
  const uint64_t release = rep_->BeginShutDown(false);
  const MutexLock lock(rep_->mu);
  for (bool in_time = true; !rep_->Drained();) {
    if (rep_->stopped || rep_->drain_release != release) {
      return Status::ShuttingDown("queue '" + rep_->name + "' was shut down during the drain");
    }
    if (!in_time) {
      return Status::TimedOut(
          "queue '" + rep_->name + "' did not drain in time: " + std::to_string(rep_->state.Len()) +
          " queued, " + std::to_string(rep_->state.processing()) + " processing");
    }
    in_time = rep_->drain_cv.WaitUntil(rep_->mu, deadline);
  }
  return {};
}

bool Queue::IsShuttingDown() const {
  const MutexLock lock(rep_->mu);
  return rep_->shutting_down;
}

Status Queue::Flush(Durability durability) {
  return rep_->journal == nullptr ? Status::Ok() : rep_->journal->Flush(durability);
}

}  // namespace wq
