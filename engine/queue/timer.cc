#include "engine/queue/timer.h"

#include <algorithm>
#include <chrono>

namespace wq {
namespace {

constexpr std::chrono::microseconds kLongestSleep = std::chrono::seconds(10);

}  // namespace

Timer::Timer(Clock* clock)
    : clock_(clock), subscription_(clock->Subscribe([this] {
        const MutexLock lock(mu_);
        changed_ = true;
        cv_.NotifyOne();
      })) {
  try {
    thread_ = std::thread([this] { Loop(); });
  } catch (...) {
    clock_->Unsubscribe(subscription_);
    throw;
  }
}

Timer::~Timer() { Stop(); }

void Timer::Arm(Target* target, int64_t due_us) {
  const MutexLock lock(mu_);
  if (ArmLocked(target, due_us) && due_us < sleeping_until_) {
    changed_ = true;
    cv_.NotifyOne();
  }
}

void Timer::Disarm(Target* target) {
  const MutexLock lock(mu_);
  DisarmLocked(target);
}

bool Timer::ArmLocked(Target* target, int64_t due_us) {
  if (const auto it = due_.find(target); it != due_.end() && it->second <= due_us) {
    return false;
  }
  DisarmLocked(target);
  due_.emplace(target, due_us);
  in_order_.emplace(due_us, target);
  return true;
}

void Timer::DisarmLocked(Target* target) {
  if (const auto it = due_.find(target); it != due_.end()) {
    in_order_.erase({it->second, target});
    due_.erase(it);
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
    if (const int64_t next_us = target->FireDue(); next_us != kNever) {
      const MutexLock lock(mu_);
      ArmLocked(target, next_us);  // It may have been armed during FireDue.
    }
  }
}

Timer::Target* Timer::AwaitDue() {
  const MutexLock lock(mu_);
  while (!stopping_) {
    const int64_t due_us = in_order_.empty() ? kNever : in_order_.begin()->first;
    const int64_t now_us = clock_->SteadyUs();
    if (due_us <= now_us) {
      Target* const target = in_order_.begin()->second;
      DisarmLocked(target);
      return target;
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
