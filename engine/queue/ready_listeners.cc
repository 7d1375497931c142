#include "engine/queue/ready_listeners.h"

#include <utility>

namespace wq {

uint64_t ReadyListeners::Add(std::function<void()> function) {
  auto listener = std::make_unique<Listener>();
  listener->function = std::move(function);
  const MutexLock lock(mu_);
  listeners_.emplace(++last_id_, std::move(listener));
  any_.store(true, std::memory_order_relaxed);
  return last_id_;
}

void ReadyListeners::Remove(uint64_t id) {
  const MutexLock lock(mu_);
  const auto found = listeners_.find(id);
  if (found == listeners_.end()) {
    return;
  }
  const std::unique_ptr<Listener> listener = std::move(found->second);
  listeners_.erase(found);
  any_.store(!listeners_.empty(), std::memory_order_relaxed);
  while (listener->calls > 0) {
    call_ended_.Wait(mu_);
  }
}

void ReadyListeners::CallAll() const {
  // One at a time, as a function may remove other listeners.
  for (uint64_t id = 0;;) {
    Listener* listener = nullptr;
    {
      const MutexLock lock(mu_);
      const auto next = listeners_.upper_bound(id);
      if (next == listeners_.end()) {
        return;
      }
      id = next->first;
      listener = next->second.get();
      ++listener->calls;
    }
    listener->function();
    {
      const MutexLock lock(mu_);
      --listener->calls;  // From here on, Remove may free it.
    }
    call_ended_.NotifyAll();
  }
}

}  // namespace wq
