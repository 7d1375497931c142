// CallbackClock: a Clock that calls the functions of wq_clock. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "base/mutex.h"
#include "wq/c/options.h"
#include "wq/clock.h"
#include "wq/status.h"

namespace wq::c {

class CallbackClock final : public Clock {
 public:
  // Null for null. InvalidArgument: a function is missing.
  static Status Make(const wq_clock* clock, std::unique_ptr<CallbackClock>* made);
  explicit CallbackClock(const wq_clock& functions) : functions_(functions) {}

  int64_t SteadyUs() const override;
  int64_t WallUs() const override;
  uint64_t Subscribe(std::function<void()> wake) override WQ_EXCLUDES(mu_);
  void Unsubscribe(uint64_t id) override WQ_EXCLUDES(mu_);

  // The time has jumped: wakes the threads that wait for an instant.
  void Changed() WQ_EXCLUDES(mu_);

 private:
  const wq_clock functions_;
  Mutex mu_;  // Held while the subscribers run.
  uint64_t next_id_ WQ_GUARDED_BY(mu_) = 1;
  std::map<uint64_t, std::function<void()>> wakes_ WQ_GUARDED_BY(mu_);
};

}  // namespace wq::c
