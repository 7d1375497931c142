#include "engine/history/history_recorder.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace wq {
namespace {

constexpr auto kDelay = std::chrono::seconds(1);
constexpr auto kLeastDelay = std::chrono::milliseconds(50);
constexpr uint64_t kMaxBufferBytes = uint64_t{1} << 20;
constexpr uint64_t kBuffersKept = 16;  // A block is at most half a segment.

}  // namespace

HistoryRecorder::HistoryRecorder(const std::string& store_dir, const storage::HistoryBounds& bounds,
                                 Clock* clock)
    : clock_(clock),
      buffer_bytes_(std::min(kMaxBufferBytes, bounds.bytes / kBuffersKept)),
      log_(store_dir, bounds),
      spare_(buffer_bytes_),
      thread_([this] { Loop(); }) {}

HistoryRecorder::~HistoryRecorder() { Stop(); }

std::unique_ptr<HistoryBuffer> HistoryRecorder::MakeBuffer() {
  return std::make_unique<HistoryBuffer>(buffer_bytes_, clock_,
                                         [this](bool half_full) { Wake(half_full); });
}

void HistoryRecorder::Add(Source* source, const std::string& queue, int64_t created_at_us) {
  const MutexLock lock(write_mu_);
  sources_.emplace(source, Named{.queue = queue, .created_at_us = created_at_us});
}

void HistoryRecorder::Remove(Source* source) {
  const MutexLock lock(write_mu_);
  if (const auto found = sources_.find(source); found != sources_.end()) {
    Write(source, found->second);
    sources_.erase(found);
  }
}

Status HistoryRecorder::Flush() {
  const MutexLock lock(write_mu_);
  for (const auto& [source, named] : sources_) {
    Write(source, named);
  }
  return status_;
}

void HistoryRecorder::Stop() {
  {
    const MutexLock lock(mu_);
    if (std::exchange(stopping_, true)) {
      return;
    }
    cv_.NotifyAll();
  }
  thread_.join();
  static_cast<void>(Flush());
  // The recorder of an ownership that has ended may stay for as long as the process.
  const MutexLock lock(write_mu_);
  sources_.clear();
  spare_ = HistoryBytes(0);
  log_.Close();
}

void HistoryRecorder::Wake(bool half_full) {
  const MutexLock lock(mu_);
  recorded_ = true;
  half_full_ = half_full_ || half_full;
  cv_.NotifyOne();
}

bool HistoryRecorder::Await() {
  const MutexLock lock(mu_);
  while (!recorded_ && !stopping_) {
    cv_.Wait(mu_);
  }
  const auto now = std::chrono::steady_clock::now();
  for (bool in_time = true; in_time && !stopping_;) {
    in_time = cv_.WaitUntil(mu_, now + (half_full_ ? kLeastDelay : kDelay));
  }
  recorded_ = half_full_ = false;
  return !stopping_;
}

void HistoryRecorder::Loop() {
  while (Await()) {
    static_cast<void>(Flush());
  }
}

void HistoryRecorder::Write(Source* source, const Named& named) {
  source->TakeHistory(&spare_);
  if (!spare_.empty() && status_.ok()) {
    status_ = log_.Append({.queue = named.queue,
                           .created_at_us = named.created_at_us,
                           .first_at_us = spare_.first_at_us,
                           .lost = spare_.lost},
                          spare_.events());
  }
  spare_.used = 0;
  spare_.lost = 0;
}

}  // namespace wq
