// Clock: the source of a queue's time.
//
//   wq::ManualClock clock;  // For tests.
//   wq::Status s = wq::Store::OpenInMemory({.clock = &clock}, &store);
//   ...
//   s = queue->AddAfter("key", 10min);
//   clock.Advance(10min);  // The key is due.
//
// Delays run on the steady reading, so setting the wall clock never fires a delay early or late in
// a running process.
// Threading: thread-safe. Lifetime: must outlive the stores that use it. A crash: only wall-clock
// readings are on disk, as a steady reading is meaningless after a reboot.
#pragma once

#include "wq/cxx20.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace wq {

// One reading of both clocks, in microseconds.
struct Time {
  int64_t steady_us = 0;  // CLOCK_BOOTTIME: never set back, and runs while the machine sleeps.
  int64_t wall_us = 0;    // Since 1970-01-01T00:00:00Z. May jump.
};

class Clock {
 public:
  virtual ~Clock() = default;
  virtual int64_t SteadyUs() const = 0;  // See Time.
  virtual int64_t WallUs() const = 0;
  // WallUs, or a reading that is cheaper and up to some milliseconds earlier. For times that are
  // only reported.
  virtual int64_t RoughWallUs() const { return WallUs(); }
  Time Now() const { return {SteadyUs(), WallUs()}; }

  // Calls `wake` after every change of the time other than its passing, so that a thread that waits
  // for an instant can check the time again. A system clock never calls it. `wake` must not call
  // the clock's Advance or SetWall. Returns the id for Unsubscribe.
  virtual uint64_t Subscribe(std::function<void()> wake);
  // Ends a subscription. Blocks: until a running `wake` of this subscription has returned.
  virtual void Unsubscribe(uint64_t id);

  // Returns the machine's clocks: an instance that is valid as long as the process.
  static Clock* System();
};

// A clock for tests: its time changes only by Advance and SetWall.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(Time start = {1'000'000'000, 1'700'000'000'000'000}) : now_(start) {}

  int64_t SteadyUs() const override;
  int64_t WallUs() const override;
  uint64_t Subscribe(std::function<void()> wake) override;
  void Unsubscribe(uint64_t id) override;

  void Advance(std::chrono::microseconds by);  // Advances both readings. REQUIRES: by >= 0.
  void SetWall(int64_t wall_us);               // Sets the wall reading alone, as an administrator.

 private:
  void Wake();

  mutable std::mutex mu_;
  std::mutex wake_mu_;    // Held while the subscribers run.
  Time now_;              // Under mu_.
  uint64_t next_id_ = 1;  // Under wake_mu_.
  std::vector<std::pair<uint64_t, std::function<void()>>> wakes_;  // Under wake_mu_.
};

}  // namespace wq
