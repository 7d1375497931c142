// Series: the counters of the queues of a store over the last hour and day.
//
//   Series series;
//   series.Add(clock->Now(), {{"pods", sample}, …});
//   Series::Reading hour = series.Read("pods", Series::Range::kHour, clock->WallUs());
//   std::string file = series.ToBytes();  // For the next process.
//
// At most kMaxQueues queues, of about 29 kB each; further ones are not measured.
// Threading: thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "server/series/queue_series.h"
#include "wq/clock.h"
#include "wq/status.h"

namespace wq {

class Series {
 public:
  static constexpr size_t kMaxQueues = 1000;

  using Queues = std::map<std::string, QueueSeries, std::less<>>;

  // All queues of the store by name. A queue that is not open has no sample.
  using Samples = std::map<std::string, std::optional<QueueSample>, std::less<>>;
  // Adds a point to each queue, and forgets the queues that are not in `samples`, unless it is
  // empty.
  void Add(const Time& now, const Samples& samples) WQ_EXCLUDES(mu_);

  enum class Range : uint8_t { kHour, kDay };
  struct Reading {
    int64_t end_us = 0;  // Of the last point, by the wall clock.
    int64_t step_us = 0;
    std::vector<Point> points = {};  // The oldest first.
    std::vector<double> queue_seconds = {};
    std::vector<double> work_seconds = {};
  };
  // Points that are not measured, of a queue without series.
  Reading Read(std::string_view queue, Range range, int64_t now_us) const WQ_EXCLUDES(mu_);

  // See series_file.cc for the format.
  std::string ToBytes() const WQ_EXCLUDES(mu_);
  // Replaces all series. Corruption: `bytes` are not what ToBytes of this version has made; then
  // nothing is changed.
  Status FromBytes(std::string_view bytes) WQ_EXCLUDES(mu_);

 private:
  mutable Mutex mu_;
  Queues queues_ WQ_GUARDED_BY(mu_);
};

}  // namespace wq
