// Limiter: how long a failed key waits before it is handed out again.
//
//   options.limiter = std::make_shared<wq::ItemExponentialFailure>(5ms, 1000s);
//
// The failure counts are the queue's, and durable; a limiter turns a count into a delay. The names
// and formulas are those of Kubernetes client-go's util/workqueue (default_rate_limiters.go). A
// limiter is thread-safe: queues share one, and call it outside their locks.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace wq {

class Limiter {
 public:
  virtual ~Limiter() = default;

  // The delay for one more failure of `key`, which has failed `failures` times before this one.
  // Never negative. Must not call the queue.
  virtual std::chrono::microseconds When(std::string_view key, uint64_t failures) = 0;
};

// base * 2^failures, at most max. Exact at every count: it saturates instead of overflowing.
class ItemExponentialFailure final : public Limiter {
 public:
  // REQUIRES: 0 <= base, 0 <= max.
  ItemExponentialFailure(std::chrono::microseconds base, std::chrono::microseconds max)
      : base_(base), max_(max) {}
  std::chrono::microseconds When(std::string_view key, uint64_t failures) override;

 private:
  const std::chrono::microseconds base_;
  const std::chrono::microseconds max_;
};

}  // namespace wq
