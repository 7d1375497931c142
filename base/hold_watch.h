// HoldWatch: how long the holders of some mutexes kept them, at most. For tests and benchmarks.
//
//   wq::HoldWatch watch;                     // Before the mutexes are made.
//   wq::Mutex mu{wq::HoldWatch::Current()};  // As a queue does.
//   …
//   EXPECT_LT(watch.Longest(), 1ms);
//
// A hold is measured in the processor time of its thread, so a thread that loses its processor
// while it holds the lock is not blamed. (A wait on a condition variable ends a hold.) A mutex that
// is made while no watch exists is not measured, and costs what it would without this class.
//
// Threading: thread-safe, but for the constructor and the destructor: one watch at a time.
// Lifetime: outlives the mutexes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>

namespace wq {

class HoldWatch {
 public:
  HoldWatch() { Place().store(this, std::memory_order_release); }
  ~HoldWatch() { Place().store(nullptr, std::memory_order_release); }
  HoldWatch(const HoldWatch&) = delete;
  HoldWatch& operator=(const HoldWatch&) = delete;

  // The one that exists; nullptr: none.
  static HoldWatch* Current() { return Place().load(std::memory_order_acquire); }

  // The longest hold since the last Reset.
  std::chrono::nanoseconds Longest() const {
    return std::chrono::nanoseconds(longest_ns_.load(std::memory_order_relaxed));
  }
  void Reset() { longest_ns_.store(0, std::memory_order_relaxed); }

  // While one exists, holds of its thread are not measured.
  class Unmeasured {
   public:
    Unmeasured() { ++Depth(); }
    ~Unmeasured() { --Depth(); }
    Unmeasured(const Unmeasured&) = delete;
    Unmeasured& operator=(const Unmeasured&) = delete;
  };

  // For Mutex. The calling thread's processor time.
  static int64_t NowNs() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  }
  // For Mutex. A hold of the calling thread ends that began at `since_ns`.
  void Note(int64_t since_ns) {
    if (Depth() > 0) {
      return;
    }
    const int64_t held_ns = NowNs() - since_ns;
    int64_t longest_ns = longest_ns_.load(std::memory_order_relaxed);
    while (held_ns > longest_ns &&
           !longest_ns_.compare_exchange_weak(longest_ns, held_ns, std::memory_order_relaxed)) {
    }
  }

 private:
  static std::atomic<HoldWatch*>& Place() {
    static std::atomic<HoldWatch*> place{nullptr};
    return place;
  }
  static int& Depth() {
    static thread_local int depth = 0;
    return depth;
  }

  std::atomic<int64_t> longest_ns_{0};
};

}  // namespace wq
