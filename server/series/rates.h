// Rates: how fast the totals of queues grow, over about the last ten seconds.
//
//   Rates rates;
//   Rates::PerSecond now = rates.Measure("pods", clock->SteadyUs(), totals);
//
// Each reading is remembered, at most kKept of a queue; so the more often it is read, the better it
// shows the last ten seconds. Threading: thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"

namespace wq {

// Of QueueCounts: they only grow while a queue is open.
struct QueueTotals {
  uint64_t adds = 0;
  uint64_t dones = 0;
  uint64_t failures = 0;
  uint64_t full = 0;
};

class Rates {
 public:
  static constexpr int64_t kWindowUs = 10'000'000;
  static constexpr int64_t kSpacingUs = 400'000;  // Readings that are closer are not remembered.
  static constexpr size_t kKept = kWindowUs / kSpacingUs + 2;

  struct PerSecond {
    double adds = 0;
    double dones = 0;
    double failures = 0;
    double full = 0;
  };
  // 0 at the first reading of a queue, and after it was opened again.
  PerSecond Measure(std::string_view queue, int64_t steady_us, const QueueTotals& totals)
      WQ_EXCLUDES(mu_);
  // Forgets all queues but these, which are sorted.
  void Retain(const std::vector<std::string>& queues) WQ_EXCLUDES(mu_);

 private:
  struct Reading {
    int64_t steady_us;
    QueueTotals totals;
  };

  Mutex mu_;
  std::map<std::string, std::deque<Reading>, std::less<>> readings_ WQ_GUARDED_BY(mu_);
};

}  // namespace wq
