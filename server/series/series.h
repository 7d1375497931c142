// Series: the counters of the queues of a store over the last hour, in memory.
//
//   Series series;
//   series.Add(clock->Now(), {{"pods", sample}, …});  // Every kStepUs.
//   Series::Reading hour = series.Read("pods", clock->WallUs());
//
// At most kMaxQueues queues, of about 14 kB each; further ones are not measured.
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
#include "server/series/rates.h"
#include "wq/clock.h"

namespace wq {

inline constexpr float kNotMeasured = -1;

// What is measured of a queue at one time.
struct Point {
  float queued = kNotMeasured;
  float processing = kNotMeasured;
  float delayed = kNotMeasured;
  float failing = kNotMeasured;
  float quarantined = kNotMeasured;
  float oldest_age = kNotMeasured;  // Of the queued keys, in seconds; 0: none is queued.
  // Per second, since the point before.
  float adds = kNotMeasured;
  float dones = kNotMeasured;
  float failures = kNotMeasured;
  float hand_outs = kNotMeasured;
};

struct QueueSample {
  uint64_t queued = 0;
  uint64_t processing = 0;
  uint64_t delayed = 0;
  uint64_t failing = 0;
  uint64_t quarantined = 0;
  double oldest_age_seconds = 0;
  QueueTotals totals = {};
};

class Series {
 public:
  static constexpr int64_t kStepUs = 10'000'000;
  static constexpr size_t kPoints = 360;  // That a reader gets.
  static constexpr size_t kMaxQueues = 1000;

  // All queues of the store by name. A queue that is not open has no sample.
  using Samples = std::map<std::string, std::optional<QueueSample>, std::less<>>;
  // Adds a point to each queue, unless it has that of this step, and forgets the queues that are
  // not in `samples`, unless it is empty. If the wall clock was set back, later points go.
  void Add(const Time& now, const Samples& samples) WQ_EXCLUDES(mu_);

  struct Reading {
    int64_t end_us = 0;              // Of the last point, by the wall clock.
    std::vector<Point> points = {};  // The oldest first.
    // The mean times that keys are queued and processing, by Little's law: the mean number of keys,
    // divided by the rate at which they are handed out. kNotMeasured: no key was handed out.
    std::vector<double> queue_seconds = {};
    std::vector<double> work_seconds = {};
  };
  // Points that are not measured, of a queue without series.
  Reading Read(std::string_view queue, int64_t now_us) const WQ_EXCLUDES(mu_);

 private:
  // The point of slot n is of the time n * kStepUs. Slots without a point are not measured.
  struct Hour {
    void Add(const Time& now, const QueueSample& sample);
    Point At(int64_t slot) const;

    // One more than a reader gets: its first mean needs the point before. The place of a slot is
    // its remainder.
    std::vector<Point> points = std::vector<Point>(kPoints + 1);
    int64_t last = -1;  // -1: there is no point.
    std::optional<QueueSample> before;
    int64_t before_us = 0;  // By the steady clock.
  };

  mutable Mutex mu_;
  std::map<std::string, Hour, std::less<>> queues_ WQ_GUARDED_BY(mu_);
};

}  // namespace wq
