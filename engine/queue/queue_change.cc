// The calls of a Queue that change keys which it has already, its cursors, or its pause.

#include <algorithm>

#include "engine/queue/queue_impl.h"
#include "wq/clock.h"
#include "wq/limiter.h"
#include "wq/queue.h"

namespace wq {

using RefusedAfter = Queue::Impl::RefusedAfter;

template <typename Transition>
Status Queue::Impl::Change(RefusedAfter refused_after, const Transition& transition) {
  if (Status s = CheckProcess(); !s.ok()) {
    return s;
  }
  Effects effects;
  {
    const MutexLock lock(mu);
    if (closed || (shutting_down && refused_after == RefusedAfter::kShutDown)) {
      return RefuseAdd();
    }
    if (Status s = transition(state); !s.ok()) {
      return s;
    }
    effects = EndTransition(0, options.durability);
  }
  return EndCall(effects, options.durability);
}

// --- Keys ---

Status Queue::Remove(std::string_view key) {
  return impl_->Change(RefusedAfter::kClose, [key](QueueState& state) {
    return state.Remove(key) ? Status::Ok() : NoSuch("not queued", key);
  });
}

Status Queue::CancelDelay(std::string_view key) {
  return impl_->Change(RefusedAfter::kClose, [key](QueueState& state) {
    return state.CancelDelay(key) ? Status::Ok() : NoSuch("not delayed", key);
  });
}

Status Queue::EndDelay(std::string_view key) {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  const Time now = impl_->clock->Now();
  return impl_->Change(RefusedAfter::kShutDown, [&](QueueState& state) {
    return state.EndDelay(key, now) ? Status::Ok() : NoSuch("not delayed", key);
  });
}

Status Queue::Forget(std::string_view key) {
  if (Status s = impl_->CheckProcess(); !s.ok()) {  // Before the limiter, which may take locks.
    return s;
  }
  impl_->limiter->Forget(key);
  return impl_->Change(RefusedAfter::kClose, [key](QueueState& state) {
    state.Forget(key);
    return Status::Ok();
  });
}

Status Queue::Delete(std::string_view key) {
  if (Status s = impl_->CheckProcess(); !s.ok()) {  // Before the limiter, as in Forget.
    return s;
  }
  impl_->limiter->Forget(key);
  return impl_->Change(RefusedAfter::kClose, [key](QueueState& state) {
    return state.Delete(key) ? Status::Ok() : NoSuch("not in the queue", key);
  });
}

// --- Quarantine ---

Status Queue::Quarantine(std::string_view key, std::string_view error) {
  Status bad_key = impl_->CheckKey(key);
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  const int64_t wall_us = impl_->clock->WallUs();
  return impl_->Change(RefusedAfter::kClose, [&](QueueState& state) {
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
  return impl_->Change(RefusedAfter::kShutDown, [&](QueueState& state) {
    return state.Release(key, wall_us) ? Status::Ok() : NoSuch("not quarantined", key);
  });
}

Status Queue::Drop(std::string_view key) {
  return impl_->Change(RefusedAfter::kClose, [key](QueueState& state) {
    return state.Drop(key) ? Status::Ok() : NoSuch("not quarantined", key);
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
