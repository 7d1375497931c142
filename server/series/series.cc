#include "server/series/series.h"

#include <algorithm>

namespace wq {
namespace {

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

double MeanSeconds(const Point& before, const Point& point, SeriesField level) {
  if (point[level] == kNotMeasured || point[SeriesField::kHandOuts] <= 0) {
    return kNotMeasured;
  }
  const double keys = before[level] == kNotMeasured
                          ? double{point[level]}
                          : (double{point[level]} + double{before[level]}) / 2;
  return keys / double{point[SeriesField::kHandOuts]};
}

}  // namespace

void Series::Hour::Add(const Time& now, const QueueSample& sample) {
  const int64_t slot = now.wall_us / kStepUs;
  if (slot < 0 || slot == last) {
    return;
  }
  Point point = LevelsOf(sample);
  if (before && now.steady_us > before_us) {
    const QueueTotals& was = before->totals;
    const double seconds = static_cast<double>(now.steady_us - before_us) / 1e6;
    point[SeriesField::kAdds] = Rate(was.adds, sample.totals.adds, seconds);
    point[SeriesField::kDones] = Rate(was.dones, sample.totals.dones, seconds);
    point[SeriesField::kFailures] = Rate(was.failures, sample.totals.failures, seconds);
    // What was handed out is done, or still processing. (Keys that were given back are neither.)
    if (sample.totals.dones >= was.dones) {
      const uint64_t out = was.dones + before->processing;
      const uint64_t now_out = sample.totals.dones + sample.processing;
      point[SeriesField::kHandOuts] = Rate(out, std::max(out, now_out), seconds);
    }
  }
  before = sample;
  before_us = now.steady_us;
  const auto place = [this](int64_t of) { return static_cast<size_t>(of) % points.size(); };
  // Those between the last point and this one, or behind this one.
  const int64_t end = std::max(last, slot) + 1;
  const int64_t oldest = end - static_cast<int64_t>(points.size());
  for (int64_t gone = std::max(std::min(last, slot) + 1, oldest); gone < end; ++gone) {
    points[place(gone)] = Point();
  }
  points[place(slot)] = point;
  last = slot;
}

Point Series::Hour::At(int64_t slot) const {
  const auto size = static_cast<int64_t>(points.size());
  const bool kept = slot >= 0 && slot <= last && last - slot < size;
  return kept ? points[static_cast<size_t>(slot % size)] : Point();
}

void Series::Add(const Time& now, const Samples& samples) {
  if (samples.empty()) {  // A replica that does not own its store any more.
    return;
  }
  const MutexLock lock(mu_);
  std::erase_if(queues_,
                [&samples](const auto& series) { return samples.count(series.first) == 0; });
  for (const auto& [name, sample] : samples) {
    if (sample && (queues_.size() < kMaxQueues || queues_.count(name) > 0)) {
      queues_[name].Add(now, *sample);
    }
  }
}

Series::Reading Series::Read(std::string_view queue, int64_t now_us) const {
  const MutexLock lock(mu_);
  const auto found = queues_.find(queue);
  static const Hour none;
  const Hour& hour = found == queues_.end() ? none : found->second;
  const int64_t now_slot = now_us / kStepUs;
  // The point of this step may not be measured yet.
  const int64_t end = hour.last == now_slot - 1 ? hour.last : now_slot;
  Reading reading;
  reading.end_us = end * kStepUs;
  for (int64_t slot = end - static_cast<int64_t>(kPoints) + 1; slot <= end; ++slot) {
    const Point before = hour.At(slot - 1);
    const Point& point = reading.points.emplace_back(hour.At(slot));
    reading.queue_seconds.push_back(MeanSeconds(before, point, SeriesField::kQueued));
    reading.work_seconds.push_back(MeanSeconds(before, point, SeriesField::kProcessing));
  }
  return reading;
}

}  // namespace wq
