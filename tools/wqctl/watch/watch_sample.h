// Sampler: the present numbers of a store, and the rates since the last sample.
//
//   Sampler sampler(dir, queue, 5);
//   Sample sample;
//   while (sampler.Take(&sample).ok()) { Show(sample); Wait(); }
//
// While the owner serves its socket the numbers are the owner's, and rates come from its counters.
// Otherwise the numbers are those on disk, and only their change is known. Keys are always read
// from disk, which may be slow: beside the owner's numbers at most a tenth of the time is spent on
// that. Thread-compatible.
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
  std::optional<uint64_t> processing;  // Known to the owner only.
  uint64_t delayed = 0;
  uint64_t failing = 0;
  uint64_t quarantined = 0;
  bool paused = false;
  // Per second, since the previous sample; unset in the first sample.
  std::optional<double> pending_change;
  std::optional<double> added;  // These three are known to the owner only.
  std::optional<double> done;
  std::optional<double> failed;
  std::vector<wq::FailingKey> top_failing;  // By count, highest first.
};

struct Sample {
  int64_t wall_us = 0;
  bool live = false;      // The numbers are the owner's.
  int64_t owner_pid = 0;  // 0: no process owns the store now.
  wq::Status health;      // As the owner reports it; otherwise Ok.
  std::vector<QueueSample> queues;
};

class Sampler {
 public:
  // `queue`: only this queue.
  Sampler(std::string store_dir, std::optional<std::string> queue, size_t top_keys);

  // NotFound: no such store or queue. Blocks: while it reads the store.
  wq::Status Take(Sample* sample);

 private:
  using Clock = std::chrono::steady_clock;
  struct Totals {
    uint64_t pending = 0;
    std::optional<wq::QueueCounts> counts;  // The owner's.
  };

  // `live`: what the owner says; null: it serves nothing.
  wq::Status Take(const wq::LiveInfo* live, Sample* sample);
  // Reads the store on disk, unless the last read was too recent.
  wq::Status ReadDisk();
  QueueSample OnDisk(const std::string& name);
  bool Wanted(const std::string& queue) const { return !queue_ || *queue_ == queue; }
  void SetRates(Clock::time_point now, std::map<std::string, Totals> totals, Sample* sample);

  const std::string store_dir_;
  const std::optional<std::string> queue_;
  const size_t top_keys_;

  std::map<std::string, wq::QueueSummary> on_disk_;
  int64_t disk_owner_pid_ = 0;
  bool disk_owner_alive_ = false;
  std::optional<Clock::time_point> next_disk_read_;

  std::optional<int64_t> totals_owner_;  // The process that counted last_; 0: read from disk.
  Clock::time_point last_time_;
  std::map<std::string, Totals> last_;  // Of the previous sample.
};

}  // namespace wqctl
