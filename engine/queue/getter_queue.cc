#include "engine/queue/getter_queue.h"

#include <algorithm>

namespace wq {
namespace {

// Of the calling thread.
std::shared_ptr<GetterQueue::Getter> OwnGetter() {
  thread_local const auto getter = std::make_shared<GetterQueue::Getter>();
  return getter;
}

}  // namespace

bool GetterQueue::Wait(Mutex& mu, Deadline deadline) {
  const std::shared_ptr<Getter> getter = OwnGetter();
  getter->woken = false;
  waiting_.push_back(getter);
  bool in_time = true;
  while (!getter->woken && in_time) {
    if (deadline.has_value()) {
      in_time = getter->cv.WaitUntil(mu, *deadline);
    } else {
      getter->cv.Wait(mu);
    }
  }
  if (!getter->woken) {
    std::erase(waiting_, getter);
  }
  return in_time;
}

GetterQueue::Woken GetterQueue::Take(size_t n) {
  if (waiting_.empty()) {  // The usual case in a busy queue.
    return {};
  }
  const auto first = waiting_.end() - static_cast<std::ptrdiff_t>(std::min(n, waiting_.size()));
  Woken woken(first, waiting_.end());
  waiting_.erase(first, waiting_.end());
  for (const auto& getter : woken) {
    getter->woken = true;
  }
  return woken;
}

void GetterQueue::Notify(const Woken& woken) {
  for (const auto& getter : woken) {
    getter->cv.NotifyOne();
  }
}

}  // namespace wq
