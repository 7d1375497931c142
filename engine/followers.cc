#include "engine/followers.h"

#include <sched.h>

#include <chrono>
#include <utility>

namespace wq {
namespace {

// About as long as it takes to fall asleep and be woken.
constexpr std::chrono::microseconds kYieldFor{40};

std::shared_ptr<Followers::Place> OwnPlace() {
  thread_local const auto place = std::make_shared<Followers::Place>();
  return place;
}

}  // namespace

Followers::Call Followers::Place::Await() {
  constexpr int kNone = static_cast<int>(Call::kNone);
  int call = call_.load(std::memory_order_acquire);
  if (!power_) {
    const auto until = std::chrono::steady_clock::now() + kYieldFor;
    while (call == kNone && std::chrono::steady_clock::now() < until) {
      sched_yield();
      call = call_.load(std::memory_order_acquire);
    }
  }
  while (call == kNone) {
    call_.wait(kNone, std::memory_order_acquire);
    call = call_.load(std::memory_order_acquire);
  }
  return static_cast<Call>(call);
}

std::shared_ptr<Followers::Place> Followers::Join(Position position, bool power) {
  std::shared_ptr<Place> place = OwnPlace();
  place->call_.store(static_cast<int>(Call::kNone), std::memory_order_relaxed);
  place->position_ = position;
  place->power_ = power;
  waiting_.push_back(place);
  return place;
}

Followers::Called Followers::Take(Position written, Position synced) {
  if (waiting_.empty()) {  // Of a lone caller: always.
    return {};
  }
  Called called;
  size_t rest = 0;
  for (std::shared_ptr<Place>& place : waiting_) {
    if (place->position_ > (place->power_ ? synced : written)) {
      std::swap(waiting_[rest++], place);
      continue;
    }
    place->call_.store(static_cast<int>(Call::kReached), std::memory_order_release);
    called.push_back(std::move(place));
  }
  waiting_.resize(rest);
  if (!waiting_.empty()) {
    waiting_.front()->call_.store(static_cast<int>(Call::kLook), std::memory_order_release);
    called.insert(called.begin(), std::move(waiting_.front()));
    waiting_.erase(waiting_.begin());
  }
  return called;
}

Followers::Called Followers::TakeAll() {
  for (const std::shared_ptr<Place>& place : waiting_) {
    place->call_.store(static_cast<int>(Call::kLook), std::memory_order_release);
  }
  return std::exchange(waiting_, {});
}

void Followers::Notify(const Called& called) {
  for (const std::shared_ptr<Place>& place : called) {
    place->call_.notify_one();
  }
}

}  // namespace wq
