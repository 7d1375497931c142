// Queue::Impl::Restore: what it leaves behind when it fails; and the construction of a Timer.

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "engine/commit/journal.h"
#include "engine/queue/queue_impl.h"
#include "engine/queue/timer.h"
#include "tests/engine/queue/queue_fixture.h"
#include "tests/support/wait.h"
#include "wq/clock.h"

namespace wq {
namespace {

using std::chrono::hours;

// A ManualClock that notes what the timer's thread reads.
class WatchedClock final : public Clock {
 public:
  int64_t SteadyUs() const override {
    const int64_t now_us = manual.SteadyUs();
    if (std::this_thread::get_id() != test_thread_) {
      seen_us = now_us;
    }
    return now_us;
  }
  int64_t WallUs() const override { return manual.WallUs(); }
  uint64_t Subscribe(std::function<void()> wake) override {
    return manual.Subscribe(std::move(wake));
  }
  void Unsubscribe(uint64_t id) override { manual.Unsubscribe(id); }

  ManualClock manual;
  mutable std::atomic<int64_t> seen_us{0};

 private:
  const std::thread::id test_thread_ = std::this_thread::get_id();
};

using RestoreTest = QueueTest;

// The store destroys such a queue, so the timer must not keep a pointer to it.
TEST_F(RestoreTest, AQueueWhoseChangesCannotBeWrittenIsNotGivenToTheTimer) {
  ASSERT_TRUE(queue_->Add("slow", {.lane = kSlowLane}).ok());
  ASSERT_TRUE(queue_->AddAfter("delayed", hours(1)).ok());
  ASSERT_TRUE(store_->Close().ok());

  WatchedClock clock;
  storage::MemoryStorage storage(disk_);
  Journal journal(&storage, {});
  Timer timer(&clock);
  // kFifo has no slow lane, so Restore moves the key "slow".
  Queue::Impl queue("q", 1, {.order = Order::kFifo}, &clock, &journal, &timer, nullptr);
  FailWrites();
  EXPECT_EQ(queue.Restore(storage).code(), StatusCode::kNotDurable);

  clock.manual.Advance(hours(2));
  // Until the timer checks what is due.
  EXPECT_TRUE(support::Eventually([&] { return clock.seen_us >= clock.manual.SteadyUs(); }));
  timer.Stop();
  const MutexLock lock(queue.mu);
  EXPECT_EQ(queue.state->Counts().delayed, 1U) << "the timer has fired it";
}

// A crash between two writes would leave a part of the change.
TEST_F(RestoreTest, WhatAnOpeningChangesIsOneWrite) {
  ASSERT_TRUE(queue_->Add("slow", {.lane = kSlowLane}).ok());
  ASSERT_TRUE(queue_->Add("fast").ok());
  ASSERT_TRUE(queue_->Quarantine("fast").ok());
  ASSERT_TRUE(store_->Close().ok());
  const auto writes = [this] {
    const MutexLock lock(disk_->mu);
    return disk_->state.writes;
  };
  const uint64_t before = writes();
  storage::MemoryStorage storage(disk_);
  Journal journal(&storage, {.flush_interval = hours(1)});
  Timer timer(&clock_);
  Queue::Impl queue("q", 1, {.order = Order::kFifo}, &clock_, &journal, &timer, nullptr);
  ASSERT_TRUE(queue.Restore(storage).ok());  // It moves the key "slow".
  EXPECT_EQ(writes(), before + 1);
}

// --- The timer ---

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
