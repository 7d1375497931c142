#include "server/series/queue_series.h"

#include <algorithm>

namespace wq {
namespace {

constexpr int64_t kHourPointsOfDay = QueueSeries::kDayStepUs / QueueSeries::kHourStepUs;

// -1: the queue was closed and opened again.
float Rate(uint64_t before, uint64_t now, double seconds) {
  return now < before ? kNotMeasured
                      : static_cast<float>(static_cast<double>(now - before) / seconds);
}

Point LevelsOf(const QueueSample& sample) {
  Point point;
  point[SeriesField::kQueued] = static_cast<float>(sample.queued);
  point[SeriesField::kProcessing] = static_cast<float>(sample.processing);
  point[SeriesField::kDelayed] = static_cast<float>(sample.delayed);
  point[SeriesField::kFailing] = static_cast<float>(sample.failing);
  point[SeriesField::kQuarantined] = static_cast<float>(sample.quarantined);
  point[SeriesField::kOldestAge] = static_cast<float>(sample.oldest_age_seconds);
  return point;
}

}  // namespace

void QueueSeries::Add(const Time& now, const QueueSample& sample) {
  const int64_t slot = now.wall_us / kHourStepUs;
  Point point = LevelsOf(sample);
  if (before_ && now.steady_us > before_us_) {
    const double seconds = static_cast<double>(now.steady_us - before_us_) / 1e6;
    point[SeriesField::kAdds] = Rate(before_->totals.adds, sample.totals.adds, seconds);
    point[SeriesField::kDones] = Rate(before_->totals.dones, sample.totals.dones, seconds);
    point[SeriesField::kFailures] = Rate(before_->totals.failures, sample.totals.failures, seconds);
    // What was handed out is done, or still processing. (Keys that were given back are neither.)
    if (sample.totals.dones >= before_->totals.dones) {
      const uint64_t now_out = sample.totals.dones + sample.processing;
      const uint64_t out = before_->totals.dones + before_->processing;
      point[SeriesField::kHandOuts] = Rate(out, std::max(out, now_out), seconds);
    }
  }
  before_ = sample;
  before_us_ = now.steady_us;
  hour_.Set(slot, point);
  AddToDay(slot, point);
}

void QueueSeries::AddToDay(int64_t hour_slot, const Point& point) {
  const int64_t slot = (hour_slot + kHourPointsOfDay - 1) / kHourPointsOfDay;
  if (slot != mean_.slot) {
    mean_ = {.slot = slot, .sums = {}, .counts = {}};
  }
  Point mean;
  for (size_t i = 0; i < kSeriesFields; ++i) {
    const float value = point.values()[i];
    const bool is_age = i == static_cast<size_t>(SeriesField::kOldestAge);
    float& sum = mean_.sums.values()[i];  // Of ages the greatest.
    int& count = mean_.counts[i];
    if (value != kNotMeasured) {
      sum = count == 0 ? value : is_age ? std::max(sum, value) : sum + value;
      ++count;
    }
    if (count > 0) {
      mean.values()[i] = is_age ? sum : sum / static_cast<float>(count);
    }
  }
  day_.Set(slot, mean);
}

double MeanSeconds(const Ring& ring, int64_t slot, SeriesField level, bool between) {
  const Point point = ring.At(slot);
  const float before = between ? ring.At(slot - 1)[level] : kNotMeasured;
  if (point[level] == kNotMeasured || point[SeriesField::kHandOuts] <= 0) {
    return kNotMeasured;
  }
  const double keys =
      before == kNotMeasured ? double{point[level]} : (double{point[level]} + double{before}) / 2;
  return keys / double{point[SeriesField::kHandOuts]};
}

}  // namespace wq
