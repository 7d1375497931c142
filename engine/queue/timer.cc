#include "engine/queue/timer.h"

#include <algorithm>
#include <chrono>

namespace wq {
namespace {

constexpr std::chrono::microseconds kLongestSleep = std::chrono::seconds(10);

}  // namespace

Timer::Timer(Clock* clock)
    : clock_(clock),
      subscription_(clock->Subscribe([this] {
        const MutexLock lock(mu_);
        changed_ = true;
        cv_.NotifyOne();
      })),
      thread_([this] { Loop(); }) {}

Timer::~Timer() { Stop(); }

void Timer::Arm(Target* target, int64_t due_us) {
  const MutexLock lock(mu_);
  const auto [it, inserted] = due_.try_emplace(target, due_us);
  it->second = std::min(it->second, due_us);
  if (due_us < sleeping_until_) {
    changed_ = true;
    cv_.NotifyOne();
  }
}

void Timer::Stop() {
  {
    const MutexLock lock(mu_);
    stopping_ = true;
    cv_.NotifyOne();
  }
  if (thread_.joinable()) {
    clock_->Unsubscribe(subscription_);
    thread_.join();
  }
}

void Timer::Loop() {
  while (Target* const target = AwaitDue()) {
    const int64_t next_us = target->FireDue();
    const MutexLock lock(mu_);
    const auto it = due_.find(target);
    it->second = std::min(it->second, next_us);  // It may have been armed during FireDue.
    if (it->second == kNever) {
      due_.erase(it);
    }
  }
}

Timer::Target* Timer::AwaitDue() {
  const MutexLock lock(mu_);
  while (!stopping_) {
    const auto next = std::min_element(
        due_.begin(), due_.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    const int64_t due_us = next == due_.end() ? kNever : next->second;
    const int64_t now_us = clock_->SteadyUs();
    if (due_us <= now_us) {
      next->second = kNever;
      return next->first;
    }
    Sleep(now_us, due_us);
  }
  return nullptr;
}

void Timer::Sleep(int64_t now_us, int64_t due_us) {
  sleeping_until_ = due_us;
  changed_ = false;
  if (due_us == kNever) {
    while (!changed_ && !stopping_) {
      cv_.Wait(mu_);
    }
  } else {
    const auto sleep = std::min(std::chrono::microseconds(due_us - now_us), kLongestSleep);
    const auto until = std::chrono::steady_clock::now() + sleep;
    while (!changed_ && !stopping_ && cv_.WaitUntil(mu_, until)) {
    }
  }
  sleeping_until_ = kNever;
}

}  // namespace wq
