// The ranges of limits on hand-outs: see QueueOptions::group_limits.
#pragma once

#include "wq/options.h"

namespace wq {

// A rate that is not a number is not in range.
inline bool InRange(const Rate& rate) {
  const bool bounds = rate.per_second >= kMinRate && rate.per_second <= kMaxRate;
  return (rate.per_second == 0 || bounds) && rate.burst >= 1 && rate.burst <= kMaxBurst;
}

}  // namespace wq
