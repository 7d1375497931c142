// StepProgress: counts the units of one step of a call, and reports them (wq/verify.h). Internal.
//
//   StepProgress step(options.progress, {.step = "checking files", .total = bytes});
//   for (…) step.Add(1);
//
// Thread-compatible. Lifetime: the callback is borrowed.
#pragma once

#include <cstdint>

#include "wq/verify.h"

namespace wq {

class StepProgress {
 public:
  // `callback` may be empty: then nothing is reported.
  StepProgress(const ProgressCallback& callback, const Progress& beginning)
      : callback_(callback), progress_(beginning) {
    Report();
  }
  StepProgress(const StepProgress&) = delete;
  StepProgress& operator=(const StepProgress&) = delete;

  // Cheap enough for each record.
  void Add(uint64_t units) {
    progress_.done += units;
    const uint64_t every = progress_.unit == Progress::Unit::kBytes ? kBytes : kRecords;
    if (progress_.done - reported_ >= every) Report();
  }
  // Reports what Add did not.
  void Finish() {
    if (progress_.done != reported_) Report();
  }

 private:
  static constexpr uint64_t kBytes = uint64_t{1} << 20;
  static constexpr uint64_t kRecords = 1000;

  void Report() {
    reported_ = progress_.done;
    if (callback_) callback_(progress_);
  }

  const ProgressCallback& callback_;
  Progress progress_;
  uint64_t reported_ = 0;  // Of progress_.done.
};

}  // namespace wq
