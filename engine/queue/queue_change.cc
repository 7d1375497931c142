// The calls of a Queue that change keys which it has already, its cursors, or its pause.

#include <algorithm>
#include <vector>

#include "engine/queue/queue_impl.h"
#include "wq/clock.h"
#include "wq/internal/queue_calls.h"
#include "wq/limiter.h"
#include "wq/queue.h"
#include "wq/queue_access.h"

namespace wq {

namespace {

constexpr std::chrono::microseconds kNoDelay{0};

// `delay_us` is of kRelease. `now` is set for what puts the key into the queue.
Status MakeChange(QueueState* state, KeyChange change, std::string_view key, int64_t delay_us,
                  Time now) {
  switch (change) {
    case KeyChange::kRemove:
      return state->Remove(key) ? Status::Ok() : NoSuch("not queued", key);
    case KeyChange::kCancelDelay:
      return state->CancelDelay(key) ? Status::Ok() : NoSuch("not delayed", key);
    case KeyChange::kRequeue:
      return state->EndDelay(key, now) ? Status::Ok() : NoSuch("not delayed", key);
    case KeyChange::kForget:
      state->Forget(key);
      return {};
    case KeyChange::kRelease:
      return state->Release(key, delay_us, now) ? Status::Ok() : NoSuch("not quarantined", key);
    case KeyChange::kDrop:
      return state->Drop(key) ? Status::Ok() : NoSuch("not quarantined", key);
    case KeyChange::kDelete:
      return state->Delete(key) ? Status::Ok() : NoSuch("not in the queue", key);
  }
  return Status::InvalidArgument("no such change");
}

}  // namespace

using RefusedAfter = Queue::Impl::RefusedAfter;

template <typename Transition>
Status Queue::Impl::Change(RefusedAfter refused_after, const Transition& transition,
                           std::optional<Durability> durability) {
  if (Status s = CheckProcess(); !s.ok()) {
    return s;
  }
  Effects effects;
  {
    const MutexLock lock(mu);
    if (closed || (shutting_down && refused_after == RefusedAfter::kShutDown)) {
      return RefuseAdd();
    }
    if (Status s = transition(*state); !s.ok()) {
      return s;
    }
    effects = EndTransition(0, durability.value_or(options.durability));
  }
  return EndCall(std::move(effects), durability.value_or(options.durability));
}

Status Queue::Impl::ChangeSources(const std::function<Status(QueueState&)>& transition,
                                  std::optional<Durability> durability) {
  return Change(RefusedAfter::kClose, transition, durability);
}

// --- Keys ---

Status Queue::Impl::ChangeKey(KeyChange change, std::string_view key,
                              std::chrono::microseconds delay, Durability durability) {
  if (Status s = CheckProcess(); !s.ok()) {  // Before the limiter, which may take locks.
    return s;
  }
  if (Status s = CheckDurability(durability); !s.ok()) {
    return s;
  }
  if (change == KeyChange::kForget || change == KeyChange::kDelete) {
    limiter->Forget(key);
  }
  const bool adds = change == KeyChange::kRequeue || change == KeyChange::kRelease;
  const int64_t delay_us = std::min(delay, kMaxDelay).count();
  const Time now = adds ? clock->Now() : Time();
  return Change(
      adds ? RefusedAfter::kShutDown : RefusedAfter::kClose,
      [&](QueueState& state) { return MakeChange(&state, change, key, delay_us, now); },
      durability);
}

Status Queue::Remove(std::string_view key) {
  return impl_->ChangeKey(KeyChange::kRemove, key, kNoDelay, impl_->options.durability);
}

Status Queue::CancelDelay(std::string_view key) {
  return impl_->ChangeKey(KeyChange::kCancelDelay, key, kNoDelay, impl_->options.durability);
}

Status Queue::EndDelay(std::string_view key) {
  return impl_->ChangeKey(KeyChange::kRequeue, key, kNoDelay, impl_->options.durability);
}

Status Queue::Forget(std::string_view key) {
  return impl_->ChangeKey(KeyChange::kForget, key, kNoDelay, impl_->options.durability);
}

Status Queue::Delete(std::string_view key) {
  return impl_->ChangeKey(KeyChange::kDelete, key, kNoDelay, impl_->options.durability);
}

Status Queue::Release(std::string_view key) {
  return impl_->ChangeKey(KeyChange::kRelease, key, kNoDelay, impl_->options.durability);
}

Status Queue::ReleaseAfter(std::string_view key, std::chrono::microseconds delay) {
  return impl_->ChangeKey(KeyChange::kRelease, key, delay, impl_->options.durability);
}

Status Queue::Drop(std::string_view key) {
  return impl_->ChangeKey(KeyChange::kDrop, key, kNoDelay, impl_->options.durability);
}

// --- Quarantine ---

Status Queue::Quarantine(std::string_view key, std::string_view error) {
  Status bad_key = impl_->CheckKey(key);
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  const std::string group = impl_->GroupOf(key, {});
  const Time now = impl_->clock->Now();
  Position covered_by = 0;
  Status s = impl_->Change(RefusedAfter::kClose, [&](QueueState& state) {
    if (!bad_key.ok() && !state.IsProcessing(key)) {
      return bad_key;
    }
    covered_by = state.Quarantine(key, error, now, group);
    return Status::Ok();
  });
  if (s.ok()) {
    s = impl_->EndCall({.position = covered_by}, impl_->options.durability);
  }
  if (IsApplied(s)) {
    impl_->limiter->Forget(key);
  }
  return s;
}

// --- Limits ---

Status Queue::Impl::SetLimits(const GroupLimits& of_queue, const GroupLimits& of_groups) {
  if (Status s = CheckLimits(of_queue, of_groups); !s.ok()) {
    return s;
  }
  if (Status s = CheckProcess(); !s.ok()) {
    return s;
  }
  const Time now = clock->Now();
  return Change(RefusedAfter::kClose, [&](QueueState& state) {
    state.SetLimits(of_queue, of_groups, now);
    return Status::Ok();
  });
}

// --- Cursors ---

Status Queue::SetCursor(std::string_view name, std::string_view value) {
  if (Status s = CheckCursor(name, value); !s.ok()) {
    return s;
  }
  return impl_->Change(RefusedAfter::kClose, [&](QueueState& state) {
    state.SetCursor(name, value);
    return Status::Ok();
  });
}

Status Queue::EraseCursor(std::string_view name) {
  return impl_->Change(RefusedAfter::kClose, [name](QueueState& state) {
    return state.EraseCursor(name) ? Status::Ok() : NoSuch("no cursor", name);
  });
}

// --- Pausing ---

Status Queue::Pause(std::optional<std::chrono::microseconds> duration) {
  if (Status s = CheckPause(duration); !s.ok()) {
    return s;
  }
  std::optional<int64_t> duration_us;
  if (duration.has_value()) {
    duration_us = std::min(*duration, kMaxDelay).count();
  }
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  const Time now = impl_->clock->Now();
  return impl_->Change(RefusedAfter::kClose, [&](QueueState& state) {
    state.Pause(duration_us, now);
    return Status::Ok();
  });
}

Status Queue::Resume() {
  return impl_->Change(RefusedAfter::kClose, [](QueueState& state) {
    state.Resume();
    return Status::Ok();
  });
}

// --- The store ---

Status Queue::Flush(Durability durability) {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  if (Status s = impl_->CheckDurability(durability); !s.ok()) {
    return s;
  }
  return impl_->journal == nullptr ? Status::Ok() : impl_->journal->Flush(durability);
}

}  // namespace wq
