#include "server/series/sampler.h"

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "base/names.h"

namespace wq {

Sampler::Sampler(Options options)
    : options_(std::move(options)), thread_(options_.clock, [this] { return Work(); }) {}

Sampler::~Sampler() { Close(); }

Status Sampler::Start() {
  Load();
  write_at_us_ = options_.clock->SteadyUs() + kWriteIntervalUs;
  return thread_.Start();
}

void Sampler::Close() {
  thread_.Close();
  Save();
}

std::optional<int64_t> Sampler::Work() {
  const Time now = options_.clock->Now();
  const int64_t slot = now.wall_us / QueueSeries::kHourStepUs;
  if (slot != slot_) {
    slot_ = slot;
    series_.Add(now, options_.read());
    changed_ = true;
  }
  if (now.steady_us >= write_at_us_) {
    Save();
  }
  const int64_t left_us = QueueSeries::kHourStepUs - now.wall_us % QueueSeries::kHourStepUs;
  return now.steady_us + left_us;
}

// An error leaves the series empty: see above.
void Sampler::Load() {
  if (options_.directory.empty()) {
    return;
  }
  std::string bytes;
  if (ReadSmallFile(options_.directory + "/" + kSeriesFile, kMaxSeriesBytes, &bytes).ok()) {
    static_cast<void>(series_.FromBytes(bytes));
  }
}

void Sampler::Save() {
  if (options_.directory.empty() || !std::exchange(changed_, false)) {
    return;
  }
  const std::string bytes = series_.ToBytes();
  static_cast<void>(WriteFileAtomically(options_.directory, kSeriesFile, bytes));
  const int64_t slow_us = static_cast<int64_t>(bytes.size()) * 1'000'000 / kMaxBytesPerSecond;
  write_at_us_ = options_.clock->SteadyUs() + std::max(kWriteIntervalUs, slow_us);
}

}  // namespace wq
