#include "engine/queue/getter_queue.h"

#include <algorithm>
#include <iterator>

namespace wq {
namespace {

// Of the calling thread.
std::shared_ptr<GetterQueue::Getter> OwnGetter() {
  thread_local const auto getter = std::make_shared<GetterQueue::Getter>();
  return getter;
}

}  // namespace

void GetterQueue::Woken::AddAll(Woken&& others) {
  std::move(others.getters_.begin(), others.getters_.end(), std::back_inserter(getters_));
  others.getters_.clear();
}

void GetterQueue::Woken::NotifyAll() {
  for (const auto& getter : getters_) {
    getter->cv.NotifyOne();
  }
  getters_.clear();
}

bool GetterQueue::Wait(Mutex& mu, Deadline deadline, size_t places, bool again) {
  const std::shared_ptr<Getter> getter = OwnGetter();
  getter->woken = false;
  getter->places = places;
  if (!again) {
    getter->since = ++waits_;
  }
  waiting_.insert(
      std::find_if(waiting_.begin(), waiting_.end(),
                   [&getter](const auto& other) { return other->since > getter->since; }),
      getter);
  bool in_time = true;
  while (!getter->woken && in_time) {
    if (deadline.has_value()) {
      in_time = getter->cv.WaitUntil(mu, *deadline);
    } else {
      getter->cv.Wait(mu);
    }
  }
  if (getter->woken) {
    running_ -= places;
  } else {
    std::erase(waiting_, getter);
  }
  return in_time;
}

GetterQueue::Woken GetterQueue::Take(size_t n) {
  Woken woken;
  if (waiting_.empty()) {  // The usual case in a busy queue.
    return woken;
  }
  std::ptrdiff_t count = 0;
  size_t places = 0;
  for (const std::ptrdiff_t all = std::ssize(waiting_); count < all; ++count) {
    const auto& next =
        waiting_[static_cast<size_t>(first_ == First::kOldest ? count : all - 1 - count)];
    if (next->places > n - places) {
      break;
    }
    places += next->places;
  }
  const auto begin = first_ == First::kOldest ? waiting_.begin() : waiting_.end() - count;
  woken.getters_.assign(begin, begin + count);
  waiting_.erase(begin, begin + count);
  for (const auto& getter : woken.getters_) {
    getter->woken = true;
  }
  running_ += places;
  return woken;
}

}  // namespace wq
