#include "wq/clock.h"

#include <ctime>
#include <utility>

#include "base/check.h"

namespace wq {
namespace {

int64_t ReadClockUs(clockid_t id) {
  timespec ts{};
  WQ_CHECK(clock_gettime(id, &ts) == 0, "the system has no such clock");
  return int64_t{ts.tv_sec} * 1'000'000 + ts.tv_nsec / 1000;
}

class SystemClock final : public Clock {
 public:
  int64_t SteadyUs() const override { return ReadClockUs(CLOCK_BOOTTIME); }
  int64_t WallUs() const override { return ReadClockUs(CLOCK_REALTIME); }
  int64_t RoughWallUs() const override { return ReadClockUs(CLOCK_REALTIME_COARSE); }
};

}  // namespace

uint64_t Clock::Subscribe(std::function<void()> /*wake*/) { return 0; }
void Clock::Unsubscribe(uint64_t /*id*/) {}

Clock* Clock::System() {
  static SystemClock* const clock = new SystemClock;  // Never destroyed: threads may outlive main.
  return clock;
}

int64_t ManualClock::SteadyUs() const {
  const std::lock_guard lock(mu_);
  return now_.steady_us;
}

int64_t ManualClock::WallUs() const {
  const std::lock_guard lock(mu_);
  return now_.wall_us;
}

uint64_t ManualClock::Subscribe(std::function<void()> wake) {
  const std::lock_guard lock(wake_mu_);
  wakes_.emplace_back(next_id_, std::move(wake));
  return next_id_++;
}

void ManualClock::Unsubscribe(uint64_t id) {
  const std::lock_guard lock(wake_mu_);
  std::erase_if(wakes_, [id](const auto& entry) { return entry.first == id; });
}

void ManualClock::Advance(std::chrono::microseconds by) {
  WQ_CHECK(by.count() >= 0, "a steady clock never goes back");
  {
    const std::lock_guard lock(mu_);
    now_.steady_us += by.count();
    now_.wall_us += by.count();
  }
  Wake();
}

void ManualClock::SetWall(int64_t wall_us) {
  {
    const std::lock_guard lock(mu_);
    now_.wall_us = wall_us;
  }
  Wake();
}

void ManualClock::Wake() {
  const std::lock_guard lock(wake_mu_);
  for (const auto& [id, wake] : wakes_) {
    wake();
  }
}

}  // namespace wq
