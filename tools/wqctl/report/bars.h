// Bars: the histograms of a QueueSummary with labels for their bounds, for inspect and report.
//
//   for (const Bar& bar : AgeBars(queue)) …   // {"up to 1s", "1s", 3}, …, {"longer", "> 7d", 0}
//
// Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wq/queue_summary.h"

namespace wqctl {

struct Bar {
  std::string label;  // By itself, such as "up to 1s".
  std::string tick;   // Short, beside its neighbours: "1s".
  uint64_t count = 0;
};
using Bars = std::vector<Bar>;

Bars AgeBars(const wq::QueueSummary& queue);  // Pending for.
Bars DueBars(const wq::QueueSummary& queue);  // Of the delayed keys: the time until they are ready.
Bars DelayBars(const wq::QueueSummary& queue);    // Of the delayed keys: the requested delays.
Bars FailureBars(const wq::QueueSummary& queue);  // Failures of a key.

}  // namespace wqctl
