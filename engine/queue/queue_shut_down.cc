// How a Queue ends: ShutDown, ShutDownWithDrain, Stop, and Close for its store.

#include "engine/queue/queue_impl.h"
#include "wq/queue.h"

namespace wq {

uint64_t Queue::Impl::BeginShutDown(Ending ending) {
  uint64_t release = 0;
  GetterQueue::Woken woken;
  {
    const MutexLock lock(mu);
    shutting_down = true;
    if (own_state != nullptr) {
      own_state->StopDelays();
    }
    stopped = stopped || ending != Ending::kShutDown;
    closed = closed || ending == Ending::kClose;
    release = ++drain_release;
    woken = getters.TakeAll();
    woken.Add(adders.TakeAll());
  }
  WakeGetters(std::move(woken));
  drain_cv.NotifyAll();
  return release;
}

void Queue::ShutDown() { impl_->BeginShutDown(Impl::Ending::kShutDown); }

void Queue::Stop() { impl_->BeginShutDown(Impl::Ending::kStop); }

Status Queue::ShutDownWithDrain(std::chrono::microseconds timeout) {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  const Impl::Deadline deadline = Impl::After(timeout);
  const uint64_t release = impl_->BeginShutDown(Impl::Ending::kShutDown);
  const MutexLock lock(impl_->mu);
  for (bool in_time = true; !impl_->Drained();) {
    if (impl_->stopped || impl_->drain_release != release) {
      return Status::ShuttingDown("queue '" + impl_->name + "' was shut down during the drain");
    }
    if (!in_time) {
      return Status::TimedOut("queue '" + impl_->name + "' did not drain in time: " +
                              std::to_string(impl_->state->Len()) + " queued, " +
                              std::to_string(impl_->state->processing()) + " processing");
    }
    in_time = impl_->drain_cv.WaitUntil(impl_->mu, *deadline);
  }
  return {};
}

bool Queue::IsShuttingDown() const {
  const MutexLock lock(impl_->mu);
  return impl_->shutting_down;
}

}  // namespace wq
