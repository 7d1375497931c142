// QueueSeries: the counters of one queue over the last hour and the last day, in fixed memory.
//
//   QueueSeries series;
//   series.Add(clock->Now(), sample);  // Every kHourStepUs.
//   series.hour().At(series.hour().last())[SeriesField::kQueued];
//
// A point of the day is the mean of those of the hour since the point of the day before, and the
// greatest of their ages.
// Threading: thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "server/series/point.h"
#include "server/series/rates.h"
#include "wq/clock.h"

namespace wq {

struct QueueSample {
  uint64_t queued = 0;
  uint64_t processing = 0;
  uint64_t delayed = 0;
  uint64_t failing = 0;
  uint64_t quarantined = 0;
  double oldest_age_seconds = 0;
  QueueTotals totals = {};
};

class QueueSeries {
 public:
  static constexpr int64_t kHourStepUs = 10'000'000;
  static constexpr int64_t kDayStepUs = 240'000'000;
  static constexpr size_t kPoints = 360;        // That a reader gets.
  static constexpr size_t kKept = kPoints + 1;  // The day's last one is not over.

  void Add(const Time& now, const QueueSample& sample);

  const Ring& hour() const { return hour_; }
  // Its last point may be of a time that has not come yet: it is the mean so far.
  const Ring& day() const { return day_; }
  // For a file that is read.
  Ring* mutable_hour() { return &hour_; }
  Ring* mutable_day() { return &day_; }

 private:
  // The mean of a point of the day so far.
  struct Mean {
    int64_t slot = -1;
    Point sums;
    std::array<int, kSeriesFields> counts = {};
  };
  void AddToDay(int64_t hour_slot, const Point& point);

  Ring hour_{kKept};
  Ring day_{kKept};
  std::optional<QueueSample> before_;
  int64_t before_us_ = 0;  // By the steady clock.
  Mean mean_;
};

// The mean time in seconds that keys are in the state that `level` counts, at the ring's point of
// `slot`: by Little's law the mean number of keys, divided by the rate at which they are handed
// out. `level`: kQueued or kProcessing. kNotMeasured: no key was handed out.
// `between`: the points' numbers are of one instant, so that the mean is that of two points.
double MeanSeconds(const Ring& ring, int64_t slot, SeriesField level, bool between);

}  // namespace wq
