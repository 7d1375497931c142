// Limiter: decides how long a failed key waits before it is handed out again.
//
//   options.limiter = std::make_shared<wq::ItemFastSlow>(5ms, 10s, 3);
//
// The failure counts are the queue's, and durable; a limiter turns a count into a delay. Its other
// state (a bucket's tokens) it can save as bytes, which the queue stores with the failure in one
// atomic step.
//
// The names and formulas are those of Kubernetes client-go's util/workqueue
// (default_rate_limiters.go).
// Threading: thread-safe; called outside a queue's lock, and must not call the queue. Lifetime:
// shared; queues may share a limiter, except one that saves state. A crash: the counts and the
// saved state survive, so a crash loop gets no fresh burst at each start.
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
  virtual ~Limiter();

  // Returns the delay for one more failure of `key`, which has failed `failures` times before it. A
  // negative delay counts as 0. See Queue::AddRateLimited for when it is called.
  virtual std::chrono::microseconds When(std::string_view key, uint64_t failures, Time now) = 0;

  // Deletes this limiter's own state about `key`: it succeeded, was deleted, or went
  // into quarantine. The queue clears its count itself.
  virtual void Forget(std::string_view /*key*/) {}

  // Returns the state that is to survive a restart besides the counts; empty for none. At most
  // kMaxLimiterStateBytes.
  virtual std::string SaveState(Time /*now*/) const { return {}; }
  // Restores a saved state: once, before any When. Ignores bytes that it cannot read.
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

// `fast` for the first max_fast_attempts failures, `slow` for every later failure.
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

// A token bucket with reservations: `burst` calls have no delay; successive calls after them get
// 1/rate, 2/rate, ... (golang.org/x/time/rate's Reserve().Delay()). All keys share the tokens.
class Bucket final : public Limiter {
 public:
  // `rate` is in tokens per second. A rate or burst of 0 or less, or not a number, counts as the
  // smallest valid value: 1e-6 per second, 1 token.
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
  bool started_ = false;  // at_us_ is set. Under mu_.
};

// The longest delay of all limiters; each limiter is asked each time.
class MaxOf final : public Limiter {
 public:
  // Null limiters are ignored.
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

// Returns client-go's default: MaxOf(ItemExponentialFailure(5 ms, 1000 s), Bucket(10 per second,
// 100)).
std::shared_ptr<Limiter> DefaultControllerLimiter();

}  // namespace wq
