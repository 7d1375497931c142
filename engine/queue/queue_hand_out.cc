// The calls of a Queue that hand keys out and end that: Get, TryGet, Done and PutBack; the workers
// of a queue with shards, and listeners.

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/queue/queue_impl.h"
#include "wq/clock.h"
#include "wq/keys.h"
#include "wq/queue.h"

namespace wq {
namespace {

// What a TryGet takes under one hold of the lock: so many keys, or keys of about so many bytes.
constexpr size_t kTakeStep = 256;
constexpr size_t kTakeStepBytes = size_t{256} << 10;

}  // namespace

Queue::Impl::Deadline Queue::Impl::After(std::chrono::microseconds timeout) {
  // kMaxDelay is a century: no caller sees the difference, and the sum cannot overflow.
  return std::chrono::steady_clock::now() +
         std::clamp(timeout, std::chrono::microseconds(0), kMaxDelay);
}

Status Queue::Impl::RefuseGet() const {
  return Status::InvalidArgument("queue '" + name + "' has shards: its keys go to workers (Join)");
}

Status Queue::Impl::NotHeld(std::string_view key) {
  return Status::NotProcessing("no worker holds key '" + EscapeKey(key) + "'");
}

// --- Get ---

Status Queue::Get(std::string* key, Lane* lane) {
  return impl_->sharded ? impl_->RefuseGet() : impl_->Take(0, std::nullopt, key, lane);
}

Status Queue::GetFor(std::chrono::microseconds timeout, std::string* key, Lane* lane) {
  return impl_->sharded ? impl_->RefuseGet() : impl_->Take(0, Impl::After(timeout), key, lane);
}

Status Queue::Impl::Take(uint64_t worker, Deadline deadline, std::string* key, Lane* lane) {
  if (Status s = CheckProcess(); !s.ok()) {
    return s;
  }
  Taken taken{.status = {}, .key = key, .lane = lane};
  for (bool over = false; !over;) {
    Effects effects;
    {
      const MutexLock lock(mu);
      over = TakeOrWait(worker, deadline, &taken, &effects);
    }
    if (over && metrics != nullptr && taken.status.ok()) {
      metrics->ObserveQueued(taken.queued_us);
    }
    if (effects.Any()) {
      EndFiring(std::move(effects));
    }
  }
  return std::move(taken.status);
}

bool Queue::Impl::TakeOrWait(uint64_t worker, Deadline deadline, Taken* taken, Effects* effects) {
  for (bool in_time = true;; in_time = getters.Wait(mu, deadline)) {
    if (TryTake(worker, taken, effects)) {
      return true;
    }
    if (!in_time) {
      taken->status = Status::TimedOut("no key in time");
      return true;
    }
    if (effects->fired) {  // The fired keys may be for workers that wait already.
      return false;
    }
  }
}

bool Queue::Impl::TryTake(uint64_t worker, Taken* taken, Effects* effects) {
  if (taken->status = CheckStopped(); !taken->status.ok()) {
    return true;
  }
  FireDueStep(effects);
  if (const Item* item = NextItem(worker); item != nullptr) {
    *taken->key = item->key();
    if (taken->lane != nullptr) {
      *taken->lane = item->lane;
    }
    if (metrics != nullptr) {
      const Time now = clock->Now();
      taken->queued_us = now.wall_us - item->added_at_us;
      times.Begin(*taken->key, now.steady_us);
    }
    EndHandOut(effects);
    return true;
  }
  taken->status = CheckEmpty();
  return !taken->status.ok();
}

Status Queue::Impl::CheckStopped() const {
  if (Fenced()) {
    return fence->Refusal();
  }
  return stopped ? Status::ShuttingDown("queue '" + name + "' is stopped") : Status::Ok();
}

Status Queue::Impl::CheckEmpty() const {
  return shutting_down && Empty()
             ? Status::ShuttingDown("queue '" + name + "' is shut down and empty")
             : Status::Ok();
}

// NOLINTNEXTLINE(readability-make-member-function-const): it takes the item from what it points to.
const Item* Queue::Impl::NextItem(uint64_t worker) {
  const Time now = state->NeedsTime() ? clock->Now() : Time();
  if (!sharded) {
    return state->Get(0, now);
  }
  QueueState* const from = state;
  const Item* item = nullptr;
  shards->TakeInTurn(worker, [&item, from, now](uint32_t shard) {
    item = from->Get(shard, now);
    return item != nullptr;
  });
  return item;
}

void Queue::Impl::EndRareHandOut(Effects* effects) {
  if (shutting_down && Empty()) {  // Other Gets wait for this: of other shards, or for a limit.
    effects->woken.Add(getters.TakeAll());
    effects->ready = true;
  }
  if (state->NeedsTime()) {
    effects->position = AppendBatch(effects->position, Durability::kAsync);
    ArmTimer(effects);
  }
}

void Queue::Impl::WakeGetters(GetterQueue::Woken woken) const {
  woken.Notify();
  listeners.Call();
}

// --- TryGet ---

Status Queue::TryGet(size_t limit, std::vector<HeldKey>* keys) {
  return impl_->sharded ? impl_->RefuseGet() : impl_->TakeQueued(0, limit, keys);
}

Status Queue::Impl::TakeQueued(uint64_t worker, size_t limit, std::vector<HeldKey>* keys) {
  if (Status s = CheckProcess(); !s.ok()) {
    return s;
  }
  const size_t begin = keys->size();
  Status status;
  // Again after a full step, and if more may be due.
  for (bool again = true; again && status.ok();) {
    const size_t step_begin = keys->size();
    const size_t step_limit = std::min(kTakeStep, limit - (step_begin - begin));
    int64_t wall_us = 0;
    Effects effects;
    {
      const MutexLock lock(mu);
      status = TakeStep(worker, step_limit, keys, &wall_us, &effects);
      if (step_begin == begin) {  // Keys that are added meanwhile would never end the call.
        limit = std::min(limit, keys->size() - begin + state->Len() + state->Counts().delayed);
      }
    }
    size_t bytes = 0;
    for (size_t i = step_begin; i < keys->size(); ++i) {
      bytes += (*keys)[i].key.size();
      if (metrics != nullptr) {
        metrics->ObserveQueued(wall_us - (*keys)[i].added_at_us);
      }
    }
    const bool full = keys->size() - step_begin == step_limit || bytes >= kTakeStepBytes;
    again = (effects.fired || full) && keys->size() - begin < limit;
    if (effects.Any()) {
      EndFiring(std::move(effects));
    }
  }
  if (keys->size() > begin) {
    return {};
  }
  return status.ok() ? Status::TimedOut("no key is queued") : std::move(status);
}

Status Queue::Impl::TakeStep(uint64_t worker, size_t limit, std::vector<HeldKey>* keys,
                             int64_t* wall_us, Effects* effects) {
  if (Status s = CheckStopped(); !s.ok()) {
    return s;
  }
  FireDueStep(effects);
  const Time now = metrics == nullptr ? Time() : clock->Now();
  *wall_us = now.wall_us;
  size_t taken = 0;
  for (size_t bytes = 0; taken < limit && bytes < kTakeStepBytes; ++taken) {
    const Item* item = NextItem(worker);
    if (item == nullptr) {
      break;
    }
    bytes += item->key_bytes;
    HeldKey& held = keys->emplace_back();
    held.key = item->key();
    held.lane = item->lane;
    held.group = item->group_name();
    held.added_at_us = item->added_at_us;
    if (const Causes* const causes = state->HeldCauses(*item); causes != nullptr) {
      held.causes = *causes;
    }
    if (item->failures != nullptr) {
      held.failures = item->failures->count;
      held.last_error = item->failures->last_error;
    }
    if (metrics != nullptr) {
      times.Begin(held.key, now.steady_us);
    }
  }
  if (taken == 0) {
    return CheckEmpty();
  }
  EndHandOut(effects);
  return {};
}

// --- Done, PutBack ---

Status Queue::Done(std::string_view key) {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  Impl::Effects effects;
  const int64_t now_us = impl_->metrics == nullptr ? 0 : impl_->clock->SteadyUs();
  int64_t worked_us = 0;
  {
    const MutexLock lock(impl_->mu);
    if (impl_->closed) {
      return impl_->RefuseAdd();
    }
    const Time now = impl_->state->DoneNeedsTime() ? impl_->clock->Now() : Time();
    if (!impl_->state->Done(key, now)) {
      return impl_->NotHeld(key);
    }
    if (impl_->metrics != nullptr) {
      worked_us = impl_->times.End(key, now_us);
    }
    effects = impl_->EndTransition(0, Durability::kAsync);
  }
  if (impl_->metrics != nullptr) {
    impl_->metrics->ObserveWorked(worked_us);
  }
  return impl_->EndCall(std::move(effects), Durability::kAsync);
}

Status Queue::PutBack(std::string_view key) { return impl_->PutBack(key, /*dead=*/false); }

Status Queue::Impl::PutBack(std::string_view key, bool dead) {
  if (Status s = CheckProcess(); !s.ok()) {
    return s;
  }
  Effects effects;
  {
    const MutexLock lock(mu);
    if (closed) {
      return RefuseAdd();
    }
    if (!(dead ? state->PutBackDead(key) : state->PutBack(key))) {
      return NotHeld(key);
    }
    if (metrics != nullptr) {
      // Not observed as work: the worker has not finished it.
      static_cast<void>(times.End(key, 0));
    }
    effects = EndTransition(0, Durability::kAsync);
  }
  return EndCall(std::move(effects), Durability::kAsync);
}

// --- Listeners ---

std::unique_ptr<ReadyListener> Queue::ListenReady(std::function<void()> on_ready) {
  const bool forked = impl_->process.Forked();  // Then a lock may have been copied while held.
  const uint64_t id = forked ? 0 : impl_->listeners.Add(std::move(on_ready));
  return std::unique_ptr<ReadyListener>(new ReadyListener(impl_.get(), id));
}

ReadyListener::~ReadyListener() {
  if (!queue_->process.Forked()) {
    queue_->listeners.Remove(id_);
  }
}

// --- Workers ---

Status Queue::Join(std::unique_ptr<Worker>* worker) {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  worker->reset();
  if (!impl_->sharded) {
    return Status::InvalidArgument("queue '" + impl_->name + "' has no shards");
  }
  GetterQueue::Woken woken;
  {
    const MutexLock lock(impl_->mu);
    worker->reset(new Worker(impl_.get(), impl_->shards->Join()));
    woken = impl_->getters.TakeAll();  // Shards have changed hands.
  }
  impl_->WakeGetters(std::move(woken));
  return {};
}

Worker::~Worker() {
  if (queue_->process.Forked()) {
    return;  // The worker is the parent's, and the lock may never be released here.
  }
  GetterQueue::Woken woken;
  {
    const MutexLock lock(queue_->mu);
    queue_->shards->Leave(id_);
    woken = queue_->getters.TakeAll();
  }
  queue_->WakeGetters(std::move(woken));
}

Status Worker::Get(std::string* key, Lane* lane) {
  return queue_->Take(id_, std::nullopt, key, lane);
}

Status Worker::GetFor(std::chrono::microseconds timeout, std::string* key, Lane* lane) {
  return queue_->Take(id_, Queue::Impl::After(timeout), key, lane);
}

Status Worker::TryGet(size_t limit, std::vector<HeldKey>* keys) {
  return queue_->TakeQueued(id_, limit, keys);
}

std::vector<uint32_t> Worker::Shards() const {
  const MutexLock lock(queue_->mu);
  std::vector<uint32_t> own = queue_->shards->Shards(id_);
  std::sort(own.begin(), own.end());
  return own;
}

}  // namespace wq
