// Delays that another Add of the key moves: DelayMode, and debounced Adds.

#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/state/state_fixture.h"
#include "tests/support/environment.h"

namespace wq {
namespace {

using namespace std::chrono_literals;

class DebounceTest : public ::testing::Test, public StateFixture {
 protected:
  AddOutcome AddIn(int64_t seconds, DelayMode mode) {
    return Do([&](QueueState& s) {
             return s.AddAfter("a", seconds * kSecond, {.delay_mode = mode}, now);
           })
        .outcome;
  }
  // An Add that waits for 5 s of quiet, at most 20 s.
  AddOutcome Gather(std::string_view key = "a") {
    return Do([&](QueueState& s) { return s.AddDebounced(key, {5s, 20s}, {}, now); }).outcome;
  }
};

// --- Modes ---

TEST_F(DebounceTest, TheLaterDelayWinsIfTheCallSaysSo) {
  AddIn(5, DelayMode::kEarliest);
  EXPECT_EQ(AddIn(3, DelayMode::kLatest), AddOutcome::kDeduplicated);
  EXPECT_EQ(Disk(), "delayed:a@5s");
  EXPECT_EQ(AddIn(8, DelayMode::kLatest), AddOutcome::kAdded);
  EXPECT_EQ(Disk(), "delayed:a@8s");
  EXPECT_EQ(Advance(8 * kSecond - 1), 0u);
  EXPECT_EQ(Advance(1), 1u);
}

TEST_F(DebounceTest, TheLatestCallWinsIfItSaysSo) {
  AddIn(5, DelayMode::kEarliest);
  EXPECT_EQ(AddIn(8, DelayMode::kReplace), AddOutcome::kAdded);
  EXPECT_EQ(Disk(), "delayed:a@8s");
  EXPECT_EQ(AddIn(3, DelayMode::kReplace), AddOutcome::kAdded);
  EXPECT_EQ(Disk(), "delayed:a@3s");
  EXPECT_EQ(AddIn(3, DelayMode::kReplace), AddOutcome::kDeduplicated);
  Crash();
  EXPECT_EQ(Advance(3 * kSecond - 1), 0u);
  EXPECT_EQ(Advance(1), 1u);
}

// --- Debounced ---

TEST_F(DebounceTest, AKeyIsReadyWhenItIsQuiet) {
  EXPECT_EQ(Gather(), AddOutcome::kAdded);
  Advance(4 * kSecond);
  EXPECT_EQ(Gather(), AddOutcome::kDeduplicated);
  EXPECT_EQ(Advance(5 * kSecond - 1), 0u);
  EXPECT_EQ(Advance(1), 1u);
  EXPECT_EQ(Get(), "a");
}

TEST_F(DebounceTest, AKeyThatIsNeverQuietIsReadyAtTheLongestWait) {
  Gather();
  for (int i = 0; i < 19; ++i) {
    EXPECT_EQ(Advance(kSecond), 0u);
    Gather();
  }
  EXPECT_EQ(Advance(kSecond - 1), 0u);
  Gather();
  EXPECT_EQ(Advance(1), 1u);
}

TEST_F(DebounceTest, BothTimesGoOnOverACrash) {
  Gather();
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(Advance(3 * kSecond), 0u);
    Crash();
    Gather();
  }
  EXPECT_EQ(Disk(), "delayed:a@2s") << "18 of 20 s have passed";
  Crash();
  EXPECT_EQ(Advance(2 * kSecond - 1), 0u);
  EXPECT_EQ(Advance(1), 1u);
}

TEST_F(DebounceTest, AWallClockThatJumpsDoesNotMoveTheEndOfARunningQueue) {
  Gather();
  for (int i = 0; i < 6; ++i) {
    now.wall_us += (i % 2 == 0 ? 3600 : -3600) * kSecond;
    EXPECT_EQ(Advance(3 * kSecond), 0u);
    Gather();
  }
  EXPECT_EQ(Advance(2 * kSecond - 1), 0u);
  EXPECT_EQ(Advance(1), 1u);
}

TEST_F(DebounceTest, AQueuedKeyIsDeduplicatedAndAHeldOneWaits) {
  Add("a");
  EXPECT_EQ(Gather(), AddOutcome::kDeduplicated);
  EXPECT_EQ(Disk(), "a");
  EXPECT_EQ(Get(), "a");
  EXPECT_EQ(Gather(), AddOutcome::kAdded);
  EXPECT_EQ(Disk(), "a delayed:a@5s");
  Done("a");
  EXPECT_EQ(Get(), "");
  Advance(5 * kSecond);
  EXPECT_EQ(Get(), "a");
}

TEST_F(DebounceTest, AnEarlierDelayStaysAndALaterOneIsReplaced) {
  AddAfter("a", 3 * kSecond);
  Gather();
  EXPECT_EQ(Disk(), "delayed:a@3s");
  AddAfter("b", 3600 * kSecond);
  Advance(10 * kSecond);
  Gather("b");
  EXPECT_EQ(Disk(), "a delayed:b@5s");
  for (int i = 0; i < 4; ++i) {  // The wait is from the first Add that was gathered.
    Advance(4 * kSecond);
    Gather("b");
  }
  EXPECT_EQ(Disk(), "a delayed:b@4s");
}

TEST_F(DebounceTest, AnEarlierReminderEndsTheWait) {
  Gather();
  AddAfter("a", 2 * kSecond);
  EXPECT_EQ(Disk(), "delayed:a@2s");
  Advance(kSecond);
  Gather();  // It goes on being gathered.
  EXPECT_EQ(Disk(), "delayed:a@5s");
}

TEST_F(DebounceTest, AReplacementEndsTheGathering) {
  Gather();
  AddIn(60, DelayMode::kReplace);
  EXPECT_EQ(Disk(), "delayed:a@60s");
  Gather();
  EXPECT_EQ(Disk(), "delayed:a@5s");
}

TEST_F(DebounceTest, AKeyInQuarantineIsHeld) {
  Do([this](QueueState& s) {
    s.Quarantine("a", "why", now);
    return true;
  });
  EXPECT_EQ(Gather(), AddOutcome::kHeld);
  EXPECT_EQ(Disk(), "quarantined:a=0");
}

// Hours of random Adds and crashes: a key is never ready before it was quiet, unless it waited for
// as long as it may; and it never waits longer.
TEST_F(DebounceTest, NoKeyWaitsLongerThanItMayOrIsReadyTooSoon) {
  const uint64_t seed = support::Seed();
  std::cout << "replay with WQ_SEED=" << seed << "\n";
  std::mt19937_64 random(seed);
  struct Wait {
    int64_t first_us;
    int64_t last_us;
  };
  std::map<std::string, Wait> waiting;
  int quiet = 0;
  int longest = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string key(1, static_cast<char>('a' + random() % 3));
    Gather(key);
    const auto [it, first] = waiting.try_emplace(key, Wait{now.steady_us, now.steady_us});
    it->second.last_us = now.steady_us;
    if (random() % 500 == 0) {
      Crash();
    }
    for (int64_t left_us = static_cast<int64_t>(random() % (random() % 4 == 0 ? 8 : 2)) * kSecond;
         left_us > 0; left_us -= kSecond) {
      Advance(kSecond);
      for (std::string ready = Get(); !ready.empty(); ready = Get()) {
        ASSERT_EQ(waiting.count(ready), 1u);
        const Wait wait = waiting[ready];
        const bool was_quiet = now.steady_us - wait.last_us == 5 * kSecond;
        const bool waited = now.steady_us - wait.first_us == 20 * kSecond;
        ASSERT_TRUE(was_quiet || waited) << ready;
        quiet += was_quiet ? 1 : 0;
        longest += waited ? 1 : 0;
        waiting.erase(ready);
        Done(ready);
      }
    }
  }
  EXPECT_GT(quiet, 100);
  EXPECT_GT(longest, 100);
}

}  // namespace
}  // namespace wq
