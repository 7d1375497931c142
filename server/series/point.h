// Point: what is measured of a queue at one time; Ring: the last points at equal distances.
// Threading: thread-compatible.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace wq {

enum class SeriesField : uint8_t {
  kQueued,
  kProcessing,
  kDelayed,
  kFailing,
  kQuarantined,
  // Per second, since the point before.
  kAdds,
  kDones,
  kFailures,
  kHandOuts,
  kOldestAge,  // Of the queued keys, in seconds; 0: none is queued.
};
inline constexpr size_t kSeriesFields = 10;
inline constexpr float kNotMeasured = -1;

class Point {
 public:
  Point() { values_.fill(kNotMeasured); }
  float operator[](SeriesField metric) const { return values_[static_cast<size_t>(metric)]; }
  float& operator[](SeriesField metric) { return values_[static_cast<size_t>(metric)]; }
  const std::array<float, kSeriesFields>& values() const { return values_; }
  std::array<float, kSeriesFields>& values() { return values_; }
  bool operator==(const Point&) const = default;

 private:
  std::array<float, kSeriesFields> values_;
};

// The point of slot n is at the time n * step. Slots without a point are not measured.
class Ring {
 public:
  explicit Ring(size_t capacity) : points_(capacity) {}

  // Points behind `slot` are removed: the wall clock was set back.
  void Set(int64_t slot, const Point& point);
  // A point that is not measured if `slot` is too old, or not there yet.
  Point At(int64_t slot) const;
  int64_t last() const { return last_; }  // -1: the ring has no point.
  size_t capacity() const { return points_.size(); }

 private:
  Point& Of(int64_t slot) { return points_[static_cast<size_t>(slot) % points_.size()]; }

  std::vector<Point> points_;
  int64_t last_ = -1;
};

}  // namespace wq
