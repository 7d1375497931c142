#include "wq/queue.h"

#include <algorithm>

#include "base/mutant.h"
#include "engine/queue/queue_impl.h"
#include "wq/clock.h"
#include "wq/keys.h"
#include "wq/limiter.h"

namespace wq {
namespace {

// Keys of an AddBatch that are added under one hold of the lock.
constexpr size_t kBatchStep = 256;
// A step that ends behind so many is written by the journal's thread while the next ones are added. What fewer keys
// would gain by that, the change of threads costs.
constexpr size_t kBatchAlone = 1024;

void SetOutcome(AddOutcome outcome, AddOutcome* out) {
  if (out != nullptr) {
    *out = outcome;
  }
}

}  // namespace

Queue::Queue(std::unique_ptr<Impl> rep) : impl_(std::move(rep)) {}
Queue::~Queue() = default;

// --- Adding ---

Status Queue::Add(std::string_view key, const AddOptions& options, AddOutcome* outcome) {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  if (Status s = impl_->CheckKey(key); !s.ok()) {
    return s;
  }
  const Durability durability = options.durability.value_or(impl_->options.durability);
  if (outcome == nullptr && !impl_->IsWaitedFor(durability) && impl_->OfferAdd(key, options)) {
    return {};
  }
  impl_->Prefetch(key);
  const std::string group = impl_->GroupOf(key, options);
  const int64_t wall_us = impl_->clock->WallUs();
  Impl::Effects effects;
  {
    const Impl::Lock lock(*impl_);
    if (impl_->shutting_down) {
      return impl_->RefuseAdd();
    }
    if (Status s = impl_->CheckAdd(options); !s.ok()) {
      return s;
    }
    const QueueState::Added added =
        impl_->state.Add(key, {.lane = options.lane, .group = group}, wall_us);
    SetOutcome(added.outcome, outcome);
    effects = impl_->Finish(added.position, UrgencyOf(durability));
  }
  return impl_->Settle(effects, durability);
}

// Adds keys[begin, end) under one hold of the lock; `last` becomes the greatest position that stands for
// one of them.
Status Queue::Impl::AddStep(std::span<const std::string_view> keys, size_t begin, size_t end,
                            const AddOptions& add, BatchResult* result, Position* last) {
  const Durability durability = add.durability.value_or(options.durability);
  std::vector<std::string> groups;
  if (options.group_of != nullptr || add.group.has_value()) {
    for (size_t i = begin; i < end; ++i) {
      groups.push_back(CheckKey(keys[i]).ok() ? GroupOf(keys[i], add) : std::string());
    }
  }
  for (size_t i = begin; i < std::min(begin + kAddsAhead, end); ++i) {
    Prefetch(keys[i]);
  }
  const int64_t wall_us = clock->WallUs();
  Effects effects;
  {
    const Lock lock(*this);
    if (shutting_down) {
      return RefuseAdd();
    }
    if (Status s = CheckAdd(add); !s.ok()) {
      return s;
    }
    for (size_t i = begin; i < end; ++i) {
      if (i + kAddsAhead < end) {
        state.Prefetch(keys[i + kAddsAhead]);
      }
      if (WQ_MUTANT(batch_loses_last) && i + 1 == end) {
        break;
      }
      if (Status s = CheckKey(keys[i]); !s.ok()) {
        result->refused.emplace_back(i, std::move(s));
        continue;
      }
      const std::string_view group = groups.empty() ? std::string_view() : groups[i - begin];
      const QueueState::Added added =
          state.Add(keys[i], {.lane = add.lane, .group = group}, wall_us);
      switch (added.outcome) {
        case AddOutcome::kAdded:
          ++result->added;
          break;
        case AddOutcome::kDeduplicated:
          ++result->deduplicated;
          break;
        case AddOutcome::kHeld:
          ++result->held;
          break;
      }
      *last = std::max(*last, added.position);
    }
    // Whoever waits for the whole batch writes the last step himself, and what else is open by then.
    const bool ahead = end > kBatchAlone && end < keys.size();
    effects = Finish(0, ahead ? Journal::Urgency::kUrgent : UrgencyOf(durability));
    *last = std::max(*last, effects.position);
  }
  // The wait for the disk is for all at the end; here only a full pipeline is waited for.
  return Settle(effects, Durability::kAsync);
}

Status Queue::AddBatch(std::span<const std::string_view> keys, const AddOptions& options,
                       BatchResult* result) {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  BatchResult unwanted;
  BatchResult& out = result == nullptr ? unwanted : *result;
  out = {};
  Position last = 0;
  Status refused;
  for (size_t begin = 0; begin < keys.size(); begin += kBatchStep) {
    const size_t end = std::min(keys.size(), begin + kBatchStep);
    // What is not durable was added nevertheless, and the rest is to be, too; the wait for all says so.
    if (Status s = impl_->AddStep(keys, begin, end, options, &out, &last);
        !s.ok() && s.code() != StatusCode::kNotDurable) {
      refused = std::move(s);
      break;
    }
  }
  Status written =
      impl_->Settle({.position = last}, options.durability.value_or(impl_->options.durability));
  return refused.ok() ? written : refused;
}

Status Queue::AddAfter(std::string_view key, std::chrono::microseconds delay,
                       const AddOptions& options, AddOutcome* outcome) {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  if (delay.count() <= 0) {
    Status s = Add(key, options, outcome);
    if (s.ok() || s.code() == StatusCode::kNotDurable) {  // It was applied.
      impl_->CountRetry();
    }
    return s;
  }
  const int64_t delay_us = std::min(delay, kMaxDelay).count();
  const Time now = impl_->clock->Now();
  Impl::Effects effects;
  if (Status s = impl_->Requeue(
          key, options, outcome, &effects,
          [&](QueueState& state, const QueueState::Wanted& wanted, bool /*stopping*/) {
            return state.AddAfter(key, delay_us, wanted, now);
          });
      !s.ok()) {
    return s;
  }
  impl_->CountRetry();
  return impl_->Settle(effects, options.durability.value_or(impl_->options.durability));
}

Status Queue::AddRateLimited(std::string_view key, std::string_view error,
                             const AddOptions& options, AddOutcome* outcome) {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  if (Status s = impl_->CheckKey(key); !s.ok()) {
    const Impl::Lock lock(*impl_);
    if (!impl_->state.IsProcessing(key)) {
      return s;  // A call that is refused takes no token of a bucket.
    }
  }
  Impl::Effects effects;
  {
    // The limiter may be the caller's own: it runs outside the queue's lock.
    const MutexLock limiter_lock(impl_->limiter_mu);
    const Time now = impl_->clock->Now();
    const std::chrono::microseconds delay = impl_->limiter->When(key, NumRequeues(key), now);
    const std::string limiter_state =
        impl_->limiter->SaveState(now).substr(0, kMaxLimiterStateBytes);
    if (Status s = impl_->Requeue(
            key, options, outcome, &effects,
            [&](QueueState& state, const QueueState::Wanted& wanted, bool stopping) {
              // After ShutDown it must stay in the store, not be handed out.
              const int64_t least_us = stopping ? 1 : 0;
              const QueueState::Failure failure{
                  .delay_us = std::clamp<int64_t>(delay.count(), least_us, kMaxDelay.count()),
                  .error = error,
                  .limiter_state = limiter_state};
              return state.AddRateLimited(key, failure, wanted, now);
            });
        !s.ok()) {
      return s;
    }
  }
  // The wait for the disk holds no lock: many failures share one write.
  impl_->CountRetry();
  return impl_->Settle(effects, options.durability.value_or(impl_->options.durability));
}

// --- Handing out ---

Status Queue::Get(std::string* key) {
  return impl_->sharded ? impl_->NeedsAWorker() : impl_->Take(0, std::nullopt, key);
}

Status Queue::GetFor(std::chrono::microseconds timeout, std::string* key) {
  return impl_->sharded ? impl_->NeedsAWorker() : impl_->Take(0, Impl::After(timeout), key);
}

Status Queue::Done(std::string_view key) {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  Impl::Effects effects;
  const int64_t now_us = impl_->metrics == nullptr ? 0 : impl_->clock->SteadyUs();
  int64_t worked_us = 0;
  {
    const Impl::Lock lock(*impl_);
    if (impl_->closed) {
      return impl_->RefuseAdd();
    }
    if (!impl_->state.Done(key)) {
      return Status::NotProcessing("no worker holds key '" + EscapeKey(key) + "'");
    }
    if (impl_->metrics != nullptr) {
      worked_us = impl_->times.End(key, now_us);
    }
    effects = impl_->Finish(0, Journal::Urgency::kLazy);
  }
  if (impl_->metrics != nullptr) {
    impl_->metrics->ObserveWorked(worked_us);
  }
  return impl_->Settle(effects, Durability::kAsync);
}

}  // namespace wq
