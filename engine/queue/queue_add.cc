// The calls of a Queue that add keys: at once, in batches, after a delay, or as the limiter says.

#include <algorithm>
#include <utility>
#include <vector>

#include "base/mutant.h"
#include "engine/queue/queue_impl.h"
#include "wq/clock.h"
#include "wq/internal/queue_calls.h"
#include "wq/limiter.h"
#include "wq/queue.h"

namespace wq {
namespace {

// What of an AddBatch is added under one hold of the lock: so many keys, or keys of about so many
// bytes.
constexpr size_t kBatchStep = 256;
constexpr size_t kBatchStepBytes = size_t{256} << 10;
// How many keys ahead of the one that is being added the cache lines of keys are fetched.
constexpr size_t kAddsAhead = 16;

}  // namespace

std::string Queue::Impl::GroupOf(std::string_view key, const AddOptions& add) const {
  if (add.group.has_value()) {
    return std::string(*add.group);
  }
  return options.group_of == nullptr || !CheckKey(key).ok()
             ? std::string()
             : options.group_of(key).substr(0, kMaxGroupBytes);
}

// --- At once ---

Status Queue::Add(std::string_view key, const AddOptions& options, AddOutcome* outcome) {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  if (Status s = impl_->CheckKey(key); !s.ok() && !impl_->IsHeld(key)) {
    return s;
  }
  const Durability durability = options.durability.value_or(impl_->options.durability);
  const HashedKey hashed(key);
  impl_->Prefetch(hashed);
  const std::string group = impl_->GroupOf(key, options);
  Time now = impl_->TimeOfAdd(options);
  Impl::Effects effects;
  FullCount full(impl_->metrics.get());
  {
    const MutexLock lock(impl_->mu);
    if (impl_->shutting_down) {
      return impl_->RefuseAdd();
    }
    if (Status s = impl_->CheckAdd(options); !s.ok()) {
      return s;
    }
    if (!impl_->HasRoom(key, options)) {
      full.Count();
      if (Status s = impl_->AwaitRoom(key, options, Impl::RoomDeadline(options)); !s.ok()) {
        return s;
      }
      now = impl_->TimeOfAdd(options);  // Not that of the call: it may have waited for long.
    }
    const QueueState::Added added =
        impl_->AddOne(hashed, options, Impl::WantedOf(options, group), now);
    if (outcome != nullptr) {
      *outcome = added.outcome;
    }
    effects = impl_->EndTransition(added.position, durability);
  }
  return impl_->EndCall(std::move(effects), durability);
}

// --- In a full queue ---

Status Queue::Impl::AwaitRoom(const std::function<size_t()>& needed, GetterQueue::Deadline deadline,
                              bool waited) {
  if (!waited) {
    state->CountFull();
  }
  bool in_time = options.when_full == WhenFull::kWait;
  for (;;) {
    const size_t places = needed();
    if (Fits(places, waited)) {
      return {};
    }
    if (!in_time) {
      WakeAdders().Notify();  // Those behind this call may need fewer places.
      const std::string why =
          places == 1 ? "' is full: " : "' has no room for " + std::to_string(places) + " keys: ";
      return Status::Full("queue '" + name + why + std::to_string(state->pending()) +
                          " keys are pending, the bound is " + std::to_string(options.max_pending));
    }
    in_time = adders.Wait(mu, deadline, std::min(places, options.max_pending), waited);
    waited = waited || in_time;  // One that gives up had no turn.
    if (shutting_down) {
      return RefuseAdd();
    }
  }
}

GetterQueue::Woken Queue::Impl::WakeAdders() {
  const bool some = state->pending() < options.max_pending;
  return some ? adders.TakeFor(options.max_pending - state->pending()) : GetterQueue::Woken();
}

// --- In batches ---

void Queue::Impl::BeginStep(Batch* call) {
  const std::span<const std::string_view> keys = call->keys;
  call->begin = call->end;
  const size_t most = std::min(keys.size(), call->begin + kBatchStep);
  for (size_t bytes = 0; call->end < most && bytes < kBatchStepBytes; ++call->end) {
    bytes += keys[call->end].size();
  }
  call->groups.clear();
  if (options.group_of != nullptr || call->options.group.has_value()) {
    for (size_t i = call->begin; i < call->end; ++i) {
      call->groups.push_back(GroupOf(keys[i], call->options));
    }
  }
}

Status Queue::Impl::AddStep(Batch* call) {
  if (call->next == call->end) {
    BeginStep(call);
  }
  const std::span<const std::string_view> keys = call->keys;
  for (size_t i = call->next; i < std::min(call->next + kAddsAhead, call->end); ++i) {
    Prefetch(keys[i]);
  }
  const Time now = TimeOfAdd(call->options);
  Effects effects;
  Status refused;
  {
    const MutexLock lock(mu);
    if (shutting_down) {
      return RefuseAdd();
    }
    if (Status s = CheckAdd(call->options); !s.ok()) {
      return s;
    }
    refused = AddKeys(call, now);
    effects = EndTransition(0, DurabilityOf(call->options));
    call->last = std::max(call->last, effects.position);
  }
  // The wait for the disk is at the end of AddBatch.
  Status written = EndCall(std::move(effects), Durability::kAsync);
  return refused.ok() ? written : refused;
}

Status Queue::Impl::AddKeys(Batch* call, Time now) {
  for (const size_t first = call->next; call->next < call->end; ++call->next) {
    const size_t i = call->next;
    if (i + kAddsAhead < call->end) {
      state->Prefetch(call->keys[i + kAddsAhead]);
    }
    if (WQ_MUTANT(batch_loses_last) && i + 1 == call->end) {
      continue;
    }
    if (Status s = CheckKey(call->keys[i]); !s.ok() && !state->IsProcessing(call->keys[i])) {
      call->result->refused.emplace_back(i, std::move(s));
      continue;
    }
    if (!HasRoom(call->keys[i], call->options)) {
      if (options.when_full == WhenFull::kWait && i > first) {
        return {};  // What is added already must not wait for the room of another key.
      }
      ++call->full;
      Status s = AwaitRoom(call->keys[i], call->options, call->room_deadline);
      if (s.code() == StatusCode::kFull) {
        call->result->refused.emplace_back(i, std::move(s));
        continue;
      }
      if (!s.ok()) {
        return s;
      }
      now = TimeOfAdd(call->options);
    }
    const std::string_view group =
        call->groups.empty() ? std::string_view() : call->groups[i - call->begin];
    const QueueState::Added added =
        AddOne(call->keys[i], call->options, WantedOf(call->options, group), now);
    CountOutcome(added.outcome, call->result);
    call->last = std::max(call->last, added.position);
  }
  return {};
}

Status Queue::AddBatch(std::span<const std::string_view> keys, const AddOptions& options,
                       BatchResult* result) {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  BatchResult unwanted;
  Impl::Batch call{.keys = keys,
                   .options = options,
                   .result = result == nullptr ? &unwanted : result,
                   .room_deadline = Impl::RoomDeadline(options)};
  *call.result = {};
  FullCount full(impl_->metrics.get());
  Status refused;
  while (call.next < keys.size()) {
    // At NotDurable the step was added, and so are those behind it; the wait at the end reports it.
    if (Status s = impl_->AddStep(&call); !IsApplied(s)) {
      refused = std::move(s);
      break;
    }
  }
  full.Count(call.full);
  Status written = impl_->EndCall({.position = call.last},
                                  options.durability.value_or(impl_->options.durability));
  return refused.ok() ? written : refused;
}

// --- After a delay ---

Status Queue::Impl::CheckRequeue(std::string_view key, const AddOptions& add) const {
  const bool held = state->IsProcessing(key);
  if (!held) {
    if (Status s = CheckKey(key); !s.ok()) {
      return s;
    }
  }
  if (closed || (shutting_down && !held)) {
    return RefuseAdd();
  }
  return CheckAdd(add);
}

template <typename Transition>
Status Queue::Impl::Requeue(std::string_view key, const std::string& group, const AddOptions& add,
                            AddOutcome* outcome, Effects* effects, const Transition& transition) {
  const MutexLock lock(mu);
  if (Status s = CheckRequeue(key, add); !s.ok()) {
    return s;
  }
  const QueueState::Added added = transition(*state, WantedOf(add, group), shutting_down);
  if (outcome != nullptr) {
    *outcome = added.outcome;
  }
  *effects = EndTransition(added.position, DurabilityOf(add));
  return {};
}

Status Queue::AddAfter(std::string_view key, std::chrono::microseconds delay,
                       const AddOptions& options, AddOutcome* outcome) {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  AddOptions later = options;
  if (delay.count() <= 0) {
    later.delay_mode = DelayMode::kEarliest;
    AddOptions at_once = options;
    at_once.debounce = Debounce{};
    Status s = Add(key, at_once, outcome);
    if (IsApplied(s)) {
      impl_->CountRetry();
    }
    if (s.code() != StatusCode::kShuttingDown) {
      return s;
    }
    // After ShutDown a worker may still add the key that it holds. The key must stay in the store
    // and not be handed out, so it is delayed.
  }
  const int64_t delay_us = std::clamp(delay, std::chrono::microseconds(1), kMaxDelay).count();
  const Time now = impl_->clock->Now();
  Impl::Effects effects;
  if (Status s = impl_->Requeue(
          key, impl_->GroupOf(key, later), later, outcome, &effects,
          [&](QueueState& state, const QueueState::Wanted& wanted, bool /*stopping*/) {
            return state.AddAfter(key, delay_us, wanted, now);
          });
      !s.ok()) {
    return s;
  }
  impl_->CountRetry();
  return impl_->EndCall(std::move(effects), options.durability.value_or(impl_->options.durability));
}

// --- As the limiter says ---

// This takes the queue's lock twice: the limiter needs the failure count before the transition, and
// it may be the user's code, which must not run under the lock. limiter_mu is held over both holds,
// so no other failure of the queue is counted between them. What can happen between them:
//   - ShutDown, Stop, Close: Requeue checks for them again.
//   - Forget, Release, Drop of the same key: its count begins at 1 then, but its delay is the one
//     for the earlier count.
// A call that the first hold refuses does not reach the limiter, and so takes no token of a bucket.
template <typename Transition>
Status Queue::Impl::CountFailure(std::string_view key, std::string_view error,
                                 const AddOptions& add, AddOutcome* outcome,
                                 const Transition& transition) {
  if (Status s = CheckProcess(); !s.ok()) {
    return s;
  }
  Effects effects;
  const std::string group = GroupOf(key, add);
  {
    const MutexLock limiter_lock(limiter_mu);
    uint64_t failures = 0;
    {
      const MutexLock lock(mu);
      if (Status s = CheckRequeue(key, add); !s.ok()) {
        return s;
      }
      failures = state->NumRequeues(key);
    }
    const Time now = clock->Now();
    const std::chrono::microseconds delay =
        std::min(limiter->When(key, failures, now), add.max_delay.value_or(kMaxDelay));
    const std::string limiter_state = limiter->SaveState(now).substr(0, kMaxLimiterStateBytes);
    if (metrics != nullptr) {
      metrics->ObserveLimiterDelay(delay.count());
    }
    AddOutcome own_outcome = AddOutcome::kAdded;
    outcome = outcome == nullptr ? &own_outcome : outcome;
    if (Status s = Requeue(key, group, add, outcome, &effects,
                           [&](QueueState& state, const QueueState::Wanted& wanted, bool stopping) {
                             // After ShutDown the key must stay in the store and not be handed out.
                             const int64_t least_us = stopping ? 1 : 0;
                             const QueueState::Failure failure{
                                 .delay_us = std::clamp<int64_t>(delay.count(), least_us,
                                                                 kMaxDelay.count()),
                                 .error = error,
                                 .limiter_state = limiter_state};
                             return transition(state, failure, wanted, now);
                           });
        !s.ok()) {
      return s;
    }
    if (*outcome == AddOutcome::kHeld) {  // Its next failure will be its first.
      limiter->Forget(key);
    }
  }
  // No lock is held while the disk is waited for: one write serves many failures.
  CountRetry();
  return EndCall(std::move(effects), DurabilityOf(add));
}

Status Queue::AddRateLimited(std::string_view key, std::string_view error,
                             const AddOptions& options, AddOutcome* outcome) {
  return impl_->CountFailure(
      key, error, options, outcome,
      [key](QueueState& state, const QueueState::Failure& failure, const QueueState::Wanted& wanted,
            Time now) { return state.AddRateLimited(key, failure, wanted, now); });
}

Status Queue::Impl::PutBackDead(std::string_view key, bool* failed) {
  if (Status s = CheckProcess(); !s.ok()) {
    return s;
  }
  {
    const MutexLock lock(mu);
    *failed = state->DeathFails(key);
  }
  if (!*failed) {
    return PutBack(key, /*dead=*/true);
  }
  return CountFailure(key, "its worker ended while it held the key",
                      {.durability = Durability::kAsync}, nullptr,
                      [this, key](QueueState& state_of, const QueueState::Failure& failure,
                                  const QueueState::Wanted& wanted, Time now) WQ_UNCHECKED {
                        if (!state_of.IsProcessing(key)) {  // The program has ended it meanwhile.
                          return QueueState::Added{AddOutcome::kDeduplicated, 0};
                        }
                        if (metrics != nullptr) {
                          static_cast<void>(times.End(key, 0));
                        }
                        return state_of.FailDead(key, failure, wanted, now);
                      });
}

}  // namespace wq
