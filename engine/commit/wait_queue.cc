#include "engine/commit/wait_queue.h"

#include <sched.h>

#include <chrono>
#include <utility>

namespace wq {
namespace {

// About as long as it takes to sleep and be woken.
constexpr std::chrono::microseconds kYieldFor{40};

// Of the calling thread, which waits for one journal at a time.
std::shared_ptr<WaitQueue::Waiter> OwnWaiter() {
  thread_local const auto waiter = std::make_shared<WaitQueue::Waiter>();
  return waiter;
}

}  // namespace

WaitQueue::Wake WaitQueue::Waiter::Await() {
  constexpr int kNone = static_cast<int>(Wake::kNone);
  int wake = wake_.load(std::memory_order_acquire);
  if (wanted_ == Reached::kWritten) {
    const auto until = std::chrono::steady_clock::now() + kYieldFor;
    while (wake == kNone && std::chrono::steady_clock::now() < until) {
      sched_yield();
      wake = wake_.load(std::memory_order_acquire);
    }
  }
  while (wake == kNone) {
    wake_.wait(kNone, std::memory_order_acquire);
    wake = wake_.load(std::memory_order_acquire);
  }
  return static_cast<Wake>(wake);
}

std::shared_ptr<WaitQueue::Waiter> WaitQueue::Join(Position position, Reached wanted) {
  std::shared_ptr<Waiter> waiter = OwnWaiter();
  waiter->wake_.store(static_cast<int>(Wake::kNone), std::memory_order_relaxed);
  waiter->position_ = position;
  waiter->wanted_ = wanted;
  waiting_.push_back(waiter);
  return waiter;
}

WaitQueue::Woken WaitQueue::Take(const Ends& ends) {
  if (waiting_.empty()) {  // Always, with a lone producer.
    return {};
  }
  Woken woken;
  size_t rest = 0;
  for (std::shared_ptr<Waiter>& waiter : waiting_) {
    if (waiter->position_ > ends[static_cast<size_t>(waiter->wanted_)]) {
      std::swap(waiting_[rest++], waiter);
      continue;
    }
    waiter->wake_.store(static_cast<int>(Wake::kReached), std::memory_order_release);
    woken.push_back(std::move(waiter));
  }
  waiting_.resize(rest);
  if (!waiting_.empty()) {
    waiting_.front()->wake_.store(static_cast<int>(Wake::kCheckAgain), std::memory_order_release);
    woken.insert(woken.begin(), std::move(waiting_.front()));
    waiting_.erase(waiting_.begin());
  }
  return woken;
}

WaitQueue::Woken WaitQueue::TakeAll() {
  for (const std::shared_ptr<Waiter>& waiter : waiting_) {
    waiter->wake_.store(static_cast<int>(Wake::kCheckAgain), std::memory_order_release);
  }
  return std::exchange(waiting_, {});
}

void WaitQueue::Notify(const Woken& woken) {
  for (const std::shared_ptr<Waiter>& waiter : woken) {
    waiter->wake_.notify_one();
  }
}

}  // namespace wq
