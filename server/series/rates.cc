#include "server/series/rates.h"

#include <algorithm>

namespace wq {

Rates::PerSecond Rates::Measure(std::string_view queue, int64_t steady_us,
                                const QueueTotals& totals) {
  const MutexLock lock(mu_);
  auto found = readings_.find(queue);
  if (found == readings_.end()) {
    found = readings_.emplace(std::string(queue), std::deque<Reading>()).first;
  }
  std::deque<Reading>& past = found->second;
  if (!past.empty() &&
      (past.back().totals.adds > totals.adds || past.back().totals.dones > totals.dones ||
       past.back().totals.failures > totals.failures || past.back().totals.full > totals.full)) {
    past.clear();  // It was closed and opened again.
  }
  // The first one that stays is the newest of those before the window.
  while (past.size() > 1 && steady_us - past[1].steady_us >= kWindowUs) {
    past.pop_front();
  }
  PerSecond rates;
  if (!past.empty() && steady_us > past.front().steady_us) {
    const Reading& first = past.front();
    const double seconds = static_cast<double>(steady_us - first.steady_us) / 1e6;
    rates.adds = static_cast<double>(totals.adds - first.totals.adds) / seconds;
    rates.dones = static_cast<double>(totals.dones - first.totals.dones) / seconds;
    rates.failures = static_cast<double>(totals.failures - first.totals.failures) / seconds;
    rates.full = static_cast<double>(totals.full - first.totals.full) / seconds;
  }
  if (past.empty() || steady_us - past.back().steady_us >= kSpacingUs) {
    past.push_back({steady_us, totals});
  }
  return rates;
}

void Rates::Retain(const std::vector<std::string>& queues) {
  const MutexLock lock(mu_);
  std::erase_if(readings_, [&queues](const auto& reading) {
    return !std::binary_search(queues.begin(), queues.end(), reading.first);
  });
}

}  // namespace wq
