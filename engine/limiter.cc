#include "wq/limiter.h"

#include <algorithm>

namespace wq {

std::chrono::microseconds ItemExponentialFailure::When(std::string_view /*key*/,
                                                       uint64_t failures) {
  // base * 2^failures reaches max once base > max / 2^failures; a shift of 63 empties any max.
  const auto shift = static_cast<int>(std::min<uint64_t>(failures, 63));
  if (base_.count() > (max_.count() >> shift)) {
    return max_;
  }
  return std::chrono::microseconds(base_.count() << shift);
}

}  // namespace wq
