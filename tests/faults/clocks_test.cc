// Wrong wall clocks: at the beginning and the end of their range, before 1970, in 2262, and jumping
// between all of these at restarts. A delay never ends early by the clock of its call, and never
// takes longer than the call asked for.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/store/store_impl.h"
#include "tests/support/memory_storage.h"
#include "wq/clock.h"
#include "wq/limiter.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace wq {
namespace {

using std::chrono::microseconds;

constexpr int64_t kDayUs = int64_t{86400} * 1'000'000;
constexpr int64_t kTodayUs = 1'700'000'000'000'000;
constexpr microseconds kHour = std::chrono::hours(1);

std::vector<int64_t> Walls() {
  constexpr int64_t k2262Us = std::numeric_limits<int64_t>::max() / 1000;  // Where nanoseconds end.
  return {std::numeric_limits<int64_t>::min(),
          std::numeric_limits<int64_t>::min() + 1,
          -kDayUs,
          -1,
          0,
          1,
          kTodayUs - kDayUs,
          kTodayUs,
          kTodayUs + kDayUs,
          k2262Us,
          k2262Us + 1,
          std::numeric_limits<int64_t>::max() - kHour.count(),
          std::numeric_limits<int64_t>::max() - 1,
          std::numeric_limits<int64_t>::max()};
}

// A store in memory that can be opened again, with another clock at each opening.
class Clocks : public ::testing::Test {
 protected:
  void Open(int64_t wall_us) {
    store_.reset();
    clock_ = std::make_unique<ManualClock>(Time{.steady_us = 5'000'000, .wall_us = wall_us});
    StoreOptions options;
    options.clock = clock_.get();
    Status s =
        Store::Impl::Open(options, "", std::make_unique<storage::MemoryStorage>(disk_), &store_);
    if (s.ok()) s = store_->OpenQueue("q", {}, &queue_);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }

  std::shared_ptr<storage::MemoryDisk> disk_ = std::make_shared<storage::MemoryDisk>();
  std::unique_ptr<ManualClock> clock_;
  std::unique_ptr<Store> store_;
  Queue* queue_ = nullptr;
};

// When the delay ends by the clock of its call; at most the end of the clock's range.
int64_t ReadyAt(int64_t wall_us) {
  int64_t ready_us = 0;
  return __builtin_add_overflow(wall_us, kHour.count(), &ready_us)
             ? std::numeric_limits<int64_t>::max()
             : ready_us;
}

// How much of the delay is left at `wall_us`.
microseconds Left(int64_t ready_us, int64_t wall_us) {
  if (ready_us <= wall_us) {
    return microseconds(0);
  }
  // Their difference may be more than a signed number holds.
  const uint64_t left = static_cast<uint64_t>(ready_us) - static_cast<uint64_t>(wall_us);
  return microseconds(
      static_cast<int64_t>(std::min<uint64_t>(left, static_cast<uint64_t>(kHour.count()))));
}

TEST_F(Clocks, ADelayIsNeverEarlyAndNeverLongerThanItself) {
  for (const int64_t asked : Walls()) {
    for (const int64_t found : Walls()) {
      SCOPED_TRACE("asked at " + std::to_string(asked) + ", found at " + std::to_string(found));
      disk_ = std::make_shared<storage::MemoryDisk>();
      ASSERT_NO_FATAL_FAILURE(Open(asked));
      ASSERT_TRUE(queue_->Add("now").ok());
      ASSERT_TRUE(queue_->AddAfter("hour", kHour).ok());
      ASSERT_TRUE(queue_->AddAfter("longest", microseconds::max()).ok());
      ASSERT_TRUE(queue_->AddRateLimited("failed", "error").ok());
      ASSERT_NO_FATAL_FAILURE(Open(found));
      EXPECT_EQ(queue_->NumRequeues("failed"), 1U);
      const microseconds left = Left(ReadyAt(asked), found);
      clock_->SetWall(
          0);  // Only steady time counts from here on. The wall clock must not overflow.
      size_t position = 0;
      if (left.count() > 0) {
        clock_->Advance(left - microseconds(1));
        EXPECT_FALSE(queue_->PositionOf("hour", &position).ok()) << "early";
        clock_->Advance(microseconds(1));
      }
      EXPECT_TRUE(queue_->PositionOf("hour", &position).ok()) << "late";
      EXPECT_TRUE(queue_->PositionOf("now", &position).ok());
    }
  }
}

// A pause ends by the wall clock, and after a century at the latest.
TEST_F(Clocks, APauseAtTheEndsOfTime) {
  for (const int64_t asked : Walls()) {
    for (const int64_t found : Walls()) {
      SCOPED_TRACE("asked at " + std::to_string(asked) + ", found at " + std::to_string(found));
      disk_ = std::make_shared<storage::MemoryDisk>();
      ASSERT_NO_FATAL_FAILURE(Open(asked));
      ASSERT_TRUE(queue_->Add("a").ok());
      ASSERT_TRUE(queue_->Pause(microseconds::max()).ok());
      ASSERT_NO_FATAL_FAILURE(Open(found));
      ASSERT_TRUE(queue_->Resume().ok());
      std::string key;
      ASSERT_TRUE(queue_->GetFor(microseconds(0), &key).ok());
    }
  }
}

}  // namespace
}  // namespace wq
