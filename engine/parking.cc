#include "engine/parking.h"

#include <algorithm>

namespace wq {
namespace {

// A thread waits for one queue at a time.
std::shared_ptr<Parking::Place> OwnPlace() {
  thread_local const auto place = std::make_shared<Parking::Place>();
  return place;
}

}  // namespace

bool Parking::Wait(Mutex& mu, Deadline deadline) {
  const std::shared_ptr<Place> place = OwnPlace();
  place->woken = false;
  waiting_.push_back(place);
  bool in_time = true;
  while (!place->woken && in_time) {
    if (deadline.has_value()) {
      in_time = place->cv.WaitUntil(mu, *deadline);
    } else {
      place->cv.Wait(mu);
    }
  }
  if (!place->woken) {
    std::erase(waiting_, place);
  }
  return in_time;
}

Parking::Woken Parking::Take(size_t n) {
  if (waiting_.empty()) {  // As in most calls of a busy queue.
    return {};
  }
  const auto first = waiting_.end() - static_cast<std::ptrdiff_t>(std::min(n, waiting_.size()));
  Woken woken(first, waiting_.end());
  waiting_.erase(first, waiting_.end());
  for (const auto& place : woken) {
    place->woken = true;
  }
  return woken;
}

void Parking::Notify(const Woken& woken) {
  for (const auto& place : woken) {
    place->cv.NotifyOne();
  }
}

}  // namespace wq
