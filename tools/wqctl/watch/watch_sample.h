// Sampler: what a store looks like now, and what has happened since the last look.
//
//   Sampler sampler(dir, queue, 5);
//   Sample sample;
//   while (sampler.Take(&sample).ok()) { Show(sample); Wait(); }
//
// While the owner serves its socket the numbers are the owner's, and rates are of what was counted.
// Otherwise they are those on disk, and only the change of the numbers is known. Keys always come
// from the disk, which may take a while to read: beside the owner's numbers that is not done more often
// than it takes up a tenth of the time. Thread-compatible.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "wq/live_store.h"
#include "wq/status.h"
#include "wq/store_view.h"

namespace wqctl {

struct QueueSample {
  std::string name;
  uint64_t pending = 0;                // Queued or processing.
  std::optional<uint64_t> processing;  // Only the owner knows.
  uint64_t delayed = 0;
  uint64_t failing = 0;
  uint64_t quarantined = 0;
  bool paused = false;
  // Per second, since the sample before; nothing in the first one.
  std::optional<double> pending_change;
  std::optional<double> added;  // These only the owner knows.
  std::optional<double> done;
  std::optional<double> failed;
  std::vector<wq::FailingKey> top_failing;  // By count, highest first.
};

struct Sample {
  int64_t wall_us = 0;
  bool live = false;      // The owner's numbers.
  int64_t owner_pid = 0;  // 0: nobody owns the store now.
  wq::Status health;      // As the owner says; Ok if he says nothing.
  std::vector<QueueSample> queues;
};

class Sampler {
 public:
  // `queue`: only this one.
  Sampler(std::string store_dir, std::optional<std::string> queue, size_t top_keys);

  // NotFound: no such store or queue. Blocks: for reading the store.
  wq::Status Take(Sample* sample);

 private:
  using Clock = std::chrono::steady_clock;
  struct Totals {
    uint64_t pending = 0;
    std::optional<wq::QueueCounts> counts;  // The owner's.
  };

  wq::Status TakeLive(const wq::LiveStore& store, Sample* sample);
  wq::Status TakeFromDisk(Sample* sample);
  // Reads what is on disk, unless it was read so lately that it would cost too much.
  wq::Status LookAtDisk();
  bool Wanted(const std::string& queue) const { return !queue_ || *queue_ == queue; }
  void SetRates(Clock::time_point now, std::map<std::string, Totals> totals, Sample* sample);

  const std::string store_dir_;
  const std::optional<std::string> queue_;
  const size_t top_keys_;

  std::map<std::string, wq::QueueSummary> on_disk_;
  int64_t disk_owner_pid_ = 0;
  bool disk_owner_alive_ = false;
  std::optional<Clock::time_point> next_disk_look_;

  std::optional<int64_t> totals_owner_;  // Whose last_ is; 0: the disk's.
  Clock::time_point last_time_;
  std::map<std::string, Totals> last_;  // Of the sample before.
};

// One queue of a sample on one line, without a line end, appended to `out`.
void AppendSampleJson(const Sample& sample, const QueueSample& queue, std::string* out);

}  // namespace wqctl
