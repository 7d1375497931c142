// CallbackClock: a Clock that asks the functions of wq_clock. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "wq/c/options.h"
#include "wq/clock.h"
#include "wq/status.h"

namespace wq::c {

class CallbackClock final : public Clock {
 public:
  // InvalidArgument: a function is missing. Null, and Ok, for null.
  static Status Make(const wq_clock* clock, std::unique_ptr<CallbackClock>* made);
  explicit CallbackClock(const wq_clock& functions) : functions_(functions) {}

  int64_t SteadyUs() const override;
  int64_t WallUs() const override;
  uint64_t Subscribe(std::function<void()> wake) override;
  void Unsubscribe(uint64_t id) override;

  // The time jumped: whoever waits for an instant looks again.
  void Changed();

 private:
  const wq_clock functions_;
  std::mutex mu_;                                    // Held while the subscribers run.
  uint64_t next_id_ = 1;                             // Under mu_.
  std::map<uint64_t, std::function<void()>> wakes_;  // Under mu_.
};

}  // namespace wq::c
