// Timer alone: its construction. The rest is in queue_test.cc and restore_test.cc.

#include "engine/queue/timer.h"

#include <cstring>
#include <functional>
#include <memory>

#include <gtest/gtest.h>

#include "wq/clock.h"

namespace wq {
namespace {

// A clock that jumps while a timer subscribes to it.
class JumpingClock final : public Clock {
 public:
  int64_t SteadyUs() const override { return 0; }
  int64_t WallUs() const override { return 0; }
  uint64_t Subscribe(std::function<void()> wake) override {
    wake();
    return 1;
  }
  void Unsubscribe(uint64_t /*id*/) override {}
};

// The bytes under a member that is used before its construction are not those of a free lock here.
TEST(Timer, MayBeWokenFromTheBeginningOfItsSubscription) {
  JumpingClock clock;
  alignas(Timer) unsigned char bytes[sizeof(Timer)];
  std::memset(bytes, 0xA5, sizeof bytes);
  Timer* const timer = std::construct_at(reinterpret_cast<Timer*>(bytes), &clock);
  timer->Stop();
  std::destroy_at(timer);
}

}  // namespace
}  // namespace wq
