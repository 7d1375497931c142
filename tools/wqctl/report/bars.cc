#include "tools/wqctl/report/bars.h"

#include <array>
#include <chrono>

#include "tools/wqctl/text/duration.h"

namespace wqctl {
namespace {

// "10ms", "6h".
std::string BoundText(int64_t us) {
  const std::chrono::microseconds bound{us};
  return bound < std::chrono::seconds{1} ? FormatDuration(bound) : FormatAge(bound);
}

// A bar for each bound, labelled `up_to` and the bound, and a bar for values above all bounds.
template <size_t N>
Bars TimeBars(const wq::Histogram<int64_t, N>& histogram, const std::array<int64_t, N>& bounds,
              const std::string& up_to, const std::string& above) {
  Bars bars;
  for (size_t i = 0; i < N; ++i) {
    const std::string bound = BoundText(bounds[i]);
    bars.push_back({up_to + bound, bound, histogram.counts[i]});
  }
  bars.push_back({above, "> " + bars.back().tick, histogram.counts.back()});
  return bars;
}

}  // namespace

Bars AgeBars(const wq::QueueSummary& queue) {
  return TimeBars(queue.ages, wq::kAgeBoundsUs, "up to ", "longer");
}

Bars DueBars(const wq::QueueSummary& queue) {
  Bars bars = TimeBars(queue.due, wq::kDueBoundsUs, "within ", "later");
  bars.front().label = bars.front().tick = "now";
  return bars;
}

Bars DelayBars(const wq::QueueSummary& queue) {
  return TimeBars(queue.delays, wq::kDelayBoundsUs, "up to ", "longer");
}

Bars FailureBars(const wq::QueueSummary& queue) {
  Bars bars;
  uint64_t from = 1;
  for (size_t i = 0; i < wq::kFailureBounds.size(); ++i) {
    const uint64_t to = wq::kFailureBounds[i];
    const std::string first = std::to_string(from);
    const std::string last = std::to_string(to);
    bars.push_back({from == to ? last : first + " to " + last,
                    from == to ? last : first + "–" + last, queue.failure_counts.counts[i]});
    from = to + 1;
  }
  bars.push_back({"more", "> " + std::to_string(from - 1), queue.failure_counts.counts.back()});
  return bars;
}

}  // namespace wqctl
