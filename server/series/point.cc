#include "server/series/point.h"

#include <algorithm>

namespace wq {

void Ring::Set(int64_t slot, const Point& point) {
  if (slot < 0) {
    return;
  }
  const auto capacity = static_cast<int64_t>(points_.size());
  // Those between the last point and this one, or behind this one.
  const int64_t first = std::min(last_, slot) + 1;
  const int64_t end = std::max(last_, slot) + 1;
  for (int64_t gone = std::max(first, end - capacity); gone < end; ++gone) {
    Of(gone) = Point();
  }
  Of(slot) = point;
  last_ = slot;
}

Point Ring::At(int64_t slot) const {
  const bool kept = slot >= 0 && slot <= last_ && last_ - slot < static_cast<int64_t>(capacity());
  return kept ? points_[static_cast<size_t>(slot) % points_.size()] : Point();
}

}  // namespace wq
