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
  return {.queued = static_cast<float>(sample.queued),
          .processing = static_cast<float>(sample.processing),
          .delayed = static_cast<float>(sample.delayed),
          .failing = static_cast<float>(sample.failing),
          .quarantined = static_cast<float>(sample.quarantined),
          .oldest_age = static_cast<float>(sample.oldest_age_seconds)};
}

// `before` and `level`: of the keys, at the last point and at this one.
double MeanSeconds(double before, double level, double hand_outs) {
  if (level == kNotMeasured || hand_outs <= 0) {
    return kNotMeasured;
  }
  return (before == kNotMeasured ? level : (level + before) / 2) / hand_outs;
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
    point.adds = Rate(was.adds, sample.totals.adds, seconds);
    point.dones = Rate(was.dones, sample.totals.dones, seconds);
    point.failures = Rate(was.failures, sample.totals.failures, seconds);
    // What was handed out is done, or still processing. (Keys that were given back are neither.)
    if (sample.totals.dones >= was.dones) {
      const uint64_t out = was.dones + before->processing;
      const uint64_t now_out = sample.totals.dones + sample.processing;
      point.hand_outs = Rate(out, std::max(out, now_out), seconds);
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
    reading.queue_seconds.push_back(MeanSeconds(before.queued, point.queued, point.hand_outs));
    reading.work_seconds.push_back(
        MeanSeconds(before.processing, point.processing, point.hand_outs));
  }
  return reading;
}

}  // namespace wq
