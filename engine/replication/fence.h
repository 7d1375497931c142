// Fence: until when this process may act as the owner of a replicated store.
//
//   fence.ExtendTo(sent_us + ttl_us - margin_us);   // After each renewal of the lease.
//   if (!fence.Holds()) return fence.Refusal();     // Before each hand-out and each change.
//
// The log refuses what a former owner writes, but a Get writes nothing: so a hand-out is fenced by
// time. The lease cannot end before the time at which its last renewal was *sent*, plus its length;
// the answer may have come much later. The clock is CLOCK_BOOTTIME, which runs while the process is
// stopped and the machine sleeps.
//
// Thread-safe. Holds takes no lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/mutex.h"
#include "wq/clock.h"
#include "wq/status.h"

namespace wq {

class Fence {
 public:
  explicit Fence(uint64_t epoch) : epoch_(epoch) {}

  uint64_t epoch() const { return epoch_; }
  bool Holds() const {
    return Clock::System()->SteadyUs() < until_us_.load(std::memory_order_acquire);
  }
  // By Clock::SteadyUs.
  int64_t until_us() const { return until_us_.load(std::memory_order_acquire); }

  // Without effect after Drop.
  void ExtendTo(int64_t until_us) WQ_EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    if (dropped_.ok()) until_us_.store(until_us, std::memory_order_release);
  }
  // Ends the ownership now and for good. The first call counts.
  void Drop(Status why) WQ_EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    until_us_.store(INT64_MIN, std::memory_order_release);
    if (dropped_.ok()) dropped_ = std::move(why);
  }
  // NotOwner, with the reason.
  Status Refusal() const WQ_EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    return dropped_.ok() ? Status::NotOwner("the lease was not renewed in time") : dropped_;
  }

 private:
  const uint64_t epoch_;
  std::atomic<int64_t> until_us_{INT64_MIN};
  mutable Mutex mu_;
  Status dropped_ WQ_GUARDED_BY(mu_);
};

}  // namespace wq
