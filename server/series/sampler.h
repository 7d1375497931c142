// Sampler: measures the queues every ten seconds, and keeps the series over restarts.
//
//   Sampler sampler({.clock = Clock::System(), .directory = store->dir(), .read = …});
//   Status s = sampler.Start();
//   sampler.series().Read(…);
//
// The series are written to the file DIRECTORY/page.series once a minute, and at Close; a file of
// many queues less often, so that it is at most kMaxBytesPerSecond. The file is no part of the
// store's data: if it is damaged, missing or of another version, the series begin anew. A crash
// loses what was measured since it was written. If it cannot be written, the series are in memory
// only.
// Threading: thread-safe. Lifetime: borrows the clock; Close before what `read` uses ends.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "server/series/paced_thread.h"
#include "server/series/series.h"
#include "wq/clock.h"
#include "wq/status.h"

namespace wq {

// More than the series of Series::kMaxQueues queues have.
inline constexpr size_t kMaxSeriesBytes = size_t{64} << 20;

class Sampler {
 public:
  static constexpr int64_t kWriteIntervalUs = 60'000'000;
  static constexpr int64_t kMaxBytesPerSecond = 65536;

  struct Options {
    Clock* clock = nullptr;
    std::string directory = {};             // Empty: there is no file.
    std::function<Series::Samples()> read;  // Called by one thread.
  };
  explicit Sampler(Options options);
  ~Sampler();  // Closes.
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // Reads the file, and measures at once. IOError: no thread can be started.
  Status Start();
  // Blocks: to write the file. Idempotent; called by one thread at a time.
  void Close();

  const Series& series() const { return series_; }

 private:
  std::optional<int64_t> Work();
  void Load();
  void Save();

  const Options options_;
  Series series_;
  // Of the thread; and of Start before it, and Close after it.
  int64_t slot_ = -1;
  int64_t write_at_us_ = 0;  // By the steady clock.
  bool changed_ = false;
  PacedThread thread_;
};

}  // namespace wq
