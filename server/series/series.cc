#include "server/series/series.h"

#include <algorithm>

namespace wq {
namespace {

// The slot of the last point that a reader gets at `now_us`.
int64_t EndOf(const Ring& ring, Series::Range range, int64_t now_slot) {
  // The hour's point of this slot may not be measured yet; the day's is complete.
  const bool is_late = range == Series::Range::kHour && ring.last() == now_slot - 1;
  return is_late ? ring.last() : now_slot;
}

}  // namespace

void Series::Add(const Time& now, const Samples& samples) {
  if (samples.empty()) {  // A replica that does not own its store any more.
    return;
  }
  const MutexLock lock(mu_);
  std::erase_if(queues_,
                [&samples](const auto& series) { return samples.count(series.first) == 0; });
  for (const auto& [name, sample] : samples) {
    if (!sample) {
      continue;
    }
    auto found = queues_.find(name);
    if (found == queues_.end()) {
      if (queues_.size() >= kMaxQueues) {
        continue;
      }
      found = queues_.try_emplace(name).first;
    }
    found->second.Add(now, *sample);
  }
}

Series::Reading Series::Read(std::string_view queue, Range range, int64_t now_us) const {
  const bool hour = range == Range::kHour;
  Reading reading;
  reading.step_us = hour ? QueueSeries::kHourStepUs : QueueSeries::kDayStepUs;
  const MutexLock lock(mu_);
  const auto found = queues_.find(queue);
  const Ring none(QueueSeries::kPoints);
  const Ring& ring = found == queues_.end() ? none
                     : hour                 ? found->second.hour()
                                            : found->second.day();
  const int64_t end = EndOf(ring, range, now_us / reading.step_us);
  reading.end_us = end * reading.step_us;
  for (int64_t slot = end - static_cast<int64_t>(QueueSeries::kPoints) + 1; slot <= end; ++slot) {
    reading.points.push_back(ring.At(slot));
    reading.queue_seconds.push_back(MeanSeconds(ring, slot, SeriesField::kQueued, hour));
    reading.work_seconds.push_back(MeanSeconds(ring, slot, SeriesField::kProcessing, hour));
  }
  return reading;
}

}  // namespace wq
