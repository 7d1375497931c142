// Limiter: how long a failed key waits before it is handed out again.
//
//   options.limiter = std::make_shared<wq::ItemFastSlow>(5ms, 10s, 3);
//
// The failure counts are the queue's, and durable; a limiter turns a count into a delay. What else a
// limiter remembers (a bucket's tokens) it can save as bytes, and the queue keeps those with the
// failure in one atomic step: a crash loop gets no fresh burst at each start.
//
// The names and formulas are those of Kubernetes client-go's util/workqueue
// (default_rate_limiters.go). A limiter is thread-safe: queues may share one, though not one that has
// state to save. It is called outside a queue's lock and must not call the queue.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "wq/clock.h"

namespace wq {

class Limiter {
 public:
  virtual ~Limiter() = default;

  // The delay for one more failure of `key`, which has failed `failures` times before this one. A
  // negative one counts as none.
  virtual std::chrono::microseconds When(std::string_view key, uint64_t failures, Time now) = 0;

  // `key` succeeded: what this limiter itself remembers of it may go. The queue's count goes anyway.
  virtual void Forget(std::string_view /*key*/) {}

  // What is to survive a restart beside the counts; empty for nothing. At most kMaxLimiterStateBytes.
  virtual std::string SaveState(Time /*now*/) const { return {}; }
  // The inverse, once, before any When. Bytes that it cannot read are ignored.
  virtual void RestoreState(std::string_view /*state*/, Time /*now*/) {}
};

inline constexpr size_t kMaxLimiterStateBytes = 4096;

// base * 2^failures, at most max. Exact at every count: it saturates instead of overflowing.
class ItemExponentialFailure final : public Limiter {
 public:
  // Negative arguments count as 0.
  ItemExponentialFailure(std::chrono::microseconds base, std::chrono::microseconds max);
  std::chrono::microseconds When(std::string_view key, uint64_t failures, Time now) override;

 private:
  const std::chrono::microseconds base_;
  const std::chrono::microseconds max_;
};

// `fast` for the first max_fast_attempts failures, `slow` for every one after them.
class ItemFastSlow final : public Limiter {
 public:
  ItemFastSlow(std::chrono::microseconds fast, std::chrono::microseconds slow,
               uint64_t max_fast_attempts);
  std::chrono::microseconds When(std::string_view key, uint64_t failures, Time now) override;

 private:
  const std::chrono::microseconds fast_;
  const std::chrono::microseconds slow_;
  const uint64_t max_fast_attempts_;
};

// A token bucket with reservations: `burst` calls are free; after them, successive calls get 1/rate,
// 2/rate, ... (golang.org/x/time/rate's Reserve().Delay()). All keys share the tokens.
class Bucket final : public Limiter {
 public:
  // `rate` is tokens a second. A rate or burst of 0 or less, or not a number, counts as the smallest
  // that works: 1e-6 a second, 1 token.
  Bucket(double rate, int64_t burst);
  std::chrono::microseconds When(std::string_view key, uint64_t failures, Time now) override;
  std::string SaveState(Time now) const override;
  void RestoreState(std::string_view state, Time now) override;

 private:
  double TokensAt(int64_t steady_us) const;  // Under mu_.

  const double rate_;
  const double burst_;
  mutable std::mutex mu_;
  double tokens_;         // At at_us_; negative: reserved ahead. Under mu_.
  int64_t at_us_ = 0;     // Steady time. Under mu_.
  bool started_ = false;  // at_us_ means something. Under mu_.
};

// The longest delay of all; each is asked each time.
class MaxOf final : public Limiter {
 public:
  // Null ones are left out.
  explicit MaxOf(std::vector<std::shared_ptr<Limiter>> limiters);
  std::chrono::microseconds When(std::string_view key, uint64_t failures, Time now) override;
  void Forget(std::string_view key) override;
  std::string SaveState(Time now) const override;
  void RestoreState(std::string_view state, Time now) override;

 private:
  const std::vector<std::shared_ptr<Limiter>> limiters_;
};

// The inner delay, at most `max`.
class WithMaxWait final : public Limiter {
 public:
  // REQUIRES: inner is not null.
  WithMaxWait(std::shared_ptr<Limiter> inner, std::chrono::microseconds max);
  std::chrono::microseconds When(std::string_view key, uint64_t failures, Time now) override;
  void Forget(std::string_view key) override;
  std::string SaveState(Time now) const override;
  void RestoreState(std::string_view state, Time now) override;

 private:
  const std::shared_ptr<Limiter> inner_;
  const std::chrono::microseconds max_;
};

// client-go's default: MaxOf(ItemExponentialFailure(5 ms, 1000 s), Bucket(10 a second, 100)).
std::shared_ptr<Limiter> DefaultControllerLimiter();

}  // namespace wq
