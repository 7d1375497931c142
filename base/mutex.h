// Mutex, MutexLock, CondVar: those of std, with the annotations that clang's -Wthread-safety
// checks.
//
//   Mutex mu_;
//   int count_ WQ_GUARDED_BY(mu_) = 0;
//   …
//   const MutexLock lock(mu_);
//   ++count_;
//
// (libstdc++'s types are not annotated. Abseil's are, but its binary library hides its locking from
// TSan.)
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "base/hold_watch.h"

#if defined(__clang__)
#define WQ_TS(x) __attribute__((x))
#else
#define WQ_TS(x)
#endif
#define WQ_GUARDED_BY(mu) WQ_TS(guarded_by(mu))
#define WQ_REQUIRES(...) WQ_TS(requires_capability(__VA_ARGS__))
#define WQ_EXCLUDES(...) WQ_TS(locks_excluded(__VA_ARGS__))
#define WQ_UNCHECKED WQ_TS(no_thread_safety_analysis)

namespace wq {

class WQ_TS(capability("mutex")) Mutex {
 public:
  Mutex() = default;
  // `watch` measures the holds; it may be nullptr.
  explicit Mutex(HoldWatch* watch) : watch_(watch) {}

  void Lock() WQ_TS(acquire_capability()) {
    mu_.lock();
    Begin();
  }
  void Unlock() WQ_TS(release_capability()) {
    End();
    mu_.unlock();
  }

 private:
  friend class CondVar;
  void Begin() {
    if (watch_ != nullptr) {
      held_since_ns_ = HoldWatch::NowNs();
    }
  }
  void End() {
    if (watch_ != nullptr) {
      watch_->Note(held_since_ns_);
    }
  }

  std::mutex mu_;
  HoldWatch* const watch_ = nullptr;
  int64_t held_since_ns_ = 0;  // Guarded by mu_; unused without a watch.
};

class WQ_TS(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mu) WQ_TS(acquire_capability(mu)) : mu_(mu) { mu_.Lock(); }
  ~MutexLock() WQ_TS(release_capability()) { mu_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mu_;
};

// Wait may return spuriously: callers loop over their condition.
class CondVar {
 public:
  void Wait(Mutex& mu) WQ_REQUIRES(mu) {
    std::unique_lock<std::mutex> lock(mu.mu_, std::adopt_lock);
    mu.End();
    cv_.wait(lock);
    mu.Begin();
    lock.release();
  }
  // False if the deadline has passed.
  bool WaitUntil(Mutex& mu, std::chrono::steady_clock::time_point deadline) WQ_REQUIRES(mu) {
    std::unique_lock<std::mutex> lock(mu.mu_, std::adopt_lock);
    mu.End();
    const bool in_time = cv_.wait_until(lock, deadline) == std::cv_status::no_timeout;
    mu.Begin();
    lock.release();
    return in_time;
  }
  void NotifyOne() { cv_.notify_one(); }
  void NotifyAll() { cv_.notify_all(); }

 private:
  std::condition_variable cv_;
};

}  // namespace wq
