// Clock: where a queue's time comes from.
//
// Delays run on the steady reading, so setting the wall clock never fires a delay early or late in
// a running process. Only wall-clock readings are written to disk: a steady reading means nothing
// after a reboot. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace wq {

// One reading of both clocks, in microseconds.
struct Time {
  int64_t steady_us = 0;  // CLOCK_BOOTTIME: never set back, and goes on while the machine sleeps.
  int64_t wall_us = 0;    // Since 1970-01-01T00:00:00Z. May jump.
};

class Clock {
 public:
  virtual ~Clock() = default;
  virtual int64_t SteadyUs() const = 0;  // See Time.
  virtual int64_t WallUs() const = 0;
  Time Now() const { return {SteadyUs(), WallUs()}; }

  // Calls `wake` after every change of time that did not come from time passing, so that whoever
  // waits for an instant can look again. A system clock never calls it. `wake` must not call back
  // into the clock's Advance or SetWall. The returned id goes to Unsubscribe.
  virtual uint64_t Subscribe(std::function<void()> wake);
  // Blocks: until a `wake` of this subscription that is under way has returned.
  virtual void Unsubscribe(uint64_t id);

  // The machine's clocks; a process-wide instance that lives for ever.
  static Clock* System();
};

// A clock for tests: it stands still until it is told otherwise.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(Time start = {1'000'000'000, 1'700'000'000'000'000}) : now_(start) {}

  int64_t SteadyUs() const override;
  int64_t WallUs() const override;
  uint64_t Subscribe(std::function<void()> wake) override;
  void Unsubscribe(uint64_t id) override;

  void Advance(std::chrono::microseconds by);  // Both readings. REQUIRES: by >= 0.
  void SetWall(int64_t wall_us);               // The wall reading alone: somebody set the clock.

 private:
  void Wake();

  mutable std::mutex mu_;
  std::mutex wake_mu_;    // Held while the subscribers run.
  Time now_;              // Under mu_.
  uint64_t next_id_ = 1;  // Under wake_mu_.
  std::vector<std::pair<uint64_t, std::function<void()>>> wakes_;  // Under wake_mu_.
};

}  // namespace wq
