// Delays and failures in the state machine, each also over a crash.

#include <gtest/gtest.h>

#include "engine/state/queue_state.h"
#include "tests/engine/state/state_fixture.h"

namespace wq {
namespace {

class DelayTest : public ::testing::Test, public StateFixture {};

// --- Delays ---

TEST_F(DelayTest, ADelayFiresWhenDueAndNotAMicrosecondEarlier) {
  AddAfter("a", 5 * kSecond);
  EXPECT_EQ(Counts(), "1 delayed");
  EXPECT_EQ(Disk(), "delayed:a@5s");
  EXPECT_EQ(Advance(5 * kSecond - 1), 0U);
  EXPECT_EQ(Advance(1), 1U);
  EXPECT_EQ(Counts(), "1 queued");
  EXPECT_EQ(Disk(), "a");
}

TEST_F(DelayTest, NoDelayIsAnAdd) {
  EXPECT_EQ(AddAfter("a", 0), AddOutcome::kAdded);
  EXPECT_EQ(Counts(), "1 queued");
}

TEST_F(DelayTest, TheEarlierDelayWins) {
  AddAfter("a", 5 * kSecond);
  EXPECT_EQ(AddAfter("a", 9 * kSecond), AddOutcome::kDeduplicated);
  EXPECT_EQ(Disk(), "delayed:a@5s");
  EXPECT_EQ(AddAfter("a", 2 * kSecond), AddOutcome::kAdded);
  EXPECT_EQ(Disk(), "delayed:a@2s");
  EXPECT_EQ(Advance(2 * kSecond), 1U);
  EXPECT_EQ(Advance(20 * kSecond), 0U);
  EXPECT_EQ(Counts(), "1 queued");
}

TEST_F(DelayTest, DelaysFireInTheOrderOfTheirInstants) {
  AddAfter("c", 3 * kSecond);
  AddAfter("a", 1 * kSecond);
  AddAfter("b", 2 * kSecond);
  Advance(10 * kSecond);
  EXPECT_EQ(GetMany(3), "abc");
}

TEST_F(DelayTest, EqualInstantsFireInTheOrderOfTheirAddsAndByKeyAfterACrash) {
  AddAfter("c", 3 * kSecond);
  Advance(kSecond);
  AddAfter("b", 2 * kSecond);
  AddAfter("a", 2 * kSecond);
  Advance(2 * kSecond);
  EXPECT_EQ(GetMany(3), "cba");
  for (const char* key : {"c", "b", "a"}) {
    AddAfter(key, kSecond);
    Done(key);
  }
  Crash();
  Advance(kSecond);
  EXPECT_EQ(GetMany(3), "abc");
}

TEST_F(DelayTest, AddLeavesADelayAlone) {
  AddAfter("a", 5 * kSecond);
  Add("a");
  EXPECT_EQ(Counts(), "1 queued, 1 delayed");
  Get();
  Done("a");
  EXPECT_EQ(Counts(), "1 delayed");
  Advance(5 * kSecond);
  EXPECT_EQ(Counts(), "1 queued");
}

TEST_F(DelayTest, AddCancelsADelayWhereTheOptionSaysSo) {
  Reopen({.order = Order::kTwoLanes, .add_cancels_delay = true});
  AddAfter("a", 5 * kSecond, kSlowLane);
  Add("a");
  EXPECT_EQ(Counts(), "1 queued");
  EXPECT_EQ(Disk(), "slow:a");  // It kept the lane that it was known for.
  EXPECT_EQ(Advance(9 * kSecond), 0U);
}

TEST_F(DelayTest, MergedAnAddCancelsADelay) {
  Reopen({.order = Order::kTwoLanes, .merge_delays = true});
  AddAfter("a", 5 * kSecond);
  EXPECT_EQ(Add("a"), AddOutcome::kAdded);
  EXPECT_EQ(Disk(), "a");
  Fail("b", 5 * kSecond);
  Fail("b", 0);
  EXPECT_EQ(Disk(), "a b failing:b=2");
}

TEST_F(DelayTest, MergedADelayOfADirtyKeyIsAnAdd) {
  Reopen({.order = Order::kTwoLanes, .merge_delays = true});
  Add("a");
  EXPECT_EQ(AddAfter("a", 5 * kSecond, kSlowLane), AddOutcome::kDeduplicated);
  EXPECT_EQ(Disk(), "slow:a");
  Fail("a", 5 * kSecond);
  EXPECT_EQ(Disk(), "slow:a failing:a=1");
  Get();
  Add("a");
  EXPECT_EQ(AddAfter("a", 5 * kSecond), AddOutcome::kDeduplicated);
  EXPECT_EQ(Counts(), "1 processing, 1 failing");
}

// While a worker holds the key, its delay is one of its next hand-out.
TEST_F(DelayTest, MergedAHeldKeyMayBeDelayed) {
  Reopen({.order = Order::kTwoLanes, .merge_delays = true});
  Add("a");
  Get();
  EXPECT_EQ(AddAfter("a", 5 * kSecond), AddOutcome::kAdded);
  EXPECT_EQ(Counts(), "1 processing, 1 delayed");
  EXPECT_EQ(AddAfter("a", 2 * kSecond), AddOutcome::kAdded);
  Done("a");
  EXPECT_EQ(Disk(), "delayed:a@2s");
}

// What was acknowledged is not lost: the key is handed out again, and after its delay too.
TEST_F(DelayTest, MergedAHeldKeyAndItsDelayAreBothKeptOverACrash) {
  Reopen({.order = Order::kTwoLanes, .merge_delays = true});
  Add("a");
  Get();
  AddAfter("a", 5 * kSecond);
  Crash();
  EXPECT_EQ(Counts(), "1 queued, 1 delayed");
  Get();
  Done("a");
  EXPECT_EQ(Counts(), "1 delayed");
  Crash();
  Add("a");  // From now on they are merged.
  EXPECT_EQ(Disk(), "a");
}

TEST_F(DelayTest, AStoreThatWasWrittenWithoutMergingIsMergedByTheNextAdd) {
  Add("a");
  AddAfter("a", 5 * kSecond, kSlowLane);
  Reopen({.order = Order::kTwoLanes, .merge_delays = true});
  EXPECT_EQ(Disk(), "a delayed:slow:a@5s");
  EXPECT_EQ(AddAfter("a", 9 * kSecond), AddOutcome::kDeduplicated);
  EXPECT_EQ(Disk(), "a");
}

TEST_F(DelayTest, ADelayOfAProcessingKeyFiresIntoDirty) {
  Add("a");
  Get();
  AddAfter("a", 1 * kSecond);
  EXPECT_EQ(Counts(), "1 processing, 1 delayed");
  Advance(1 * kSecond);
  EXPECT_TRUE(state().AddedAgain("a"));
  EXPECT_EQ(Counts(), "1 processing");
  Done("a");
  EXPECT_EQ(Counts(), "1 queued");
}

TEST_F(DelayTest, FireDueKeepsToItsLimit) {
  for (int i = 0; i < 10; ++i) {
    AddAfter("k" + std::to_string(i), i + 1);
  }
  now.steady_us += kSecond;
  EXPECT_EQ(state().FireDue(now, 4), 4U);
  EXPECT_EQ(state().FireDue(now, 100), 6U);
}

TEST_F(DelayTest, DelaysKeepTheirInstantOverACrash) {
  AddAfter("a", 5 * kSecond);
  now.wall_us += 2 * kSecond;  // While the process was down; the steady clock restarts.
  now.steady_us = 17;
  Crash();
  EXPECT_EQ(Advance(3 * kSecond - 1), 0U);
  EXPECT_EQ(Advance(1), 1U);
}

TEST_F(DelayTest, OverdueDelaysAreReadyAtOnceInTheirOrder) {
  AddAfter("b", 2 * kSecond);
  AddAfter("a", 1 * kSecond);
  AddAfter("later", 100 * kSecond);
  now.wall_us += 50 * kSecond;
  Crash();
  EXPECT_EQ(Advance(0), 2U);
  EXPECT_EQ(GetMany(2), "ab");
  EXPECT_EQ(Counts(), "2 processing, 1 delayed");
}

TEST_F(DelayTest, AClockSetBackDelaysAKeyByAtMostItsOwnDelay) {
  AddAfter("a", 5 * kSecond);
  now.wall_us -= 86400 * kSecond;
  Crash();
  EXPECT_EQ(Advance(5 * kSecond - 1), 0U);
  EXPECT_EQ(Advance(1), 1U);
  EXPECT_EQ(Disk(), "a");  // The record was found under the old instant.
}

TEST_F(DelayTest, ADelayEndsOverRestartsByAClockThatWasSetBack) {
  AddAfter("a", 3 * kSecond);
  now.wall_us -= 3600 * kSecond;
  Crash();
  EXPECT_EQ(Advance(2 * kSecond), 0U);
  Crash();
  EXPECT_EQ(Advance(1 * kSecond - 1), 0U);
  Crash();
  EXPECT_EQ(Advance(1), 1U);
  EXPECT_EQ(Disk(), "a");
}

TEST_F(DelayTest, AClockThatIsRightAgainEndsADelayAtItsReadyTime) {
  AddAfter("a", 30 * kSecond);
  now.wall_us -= 3600 * kSecond;
  Crash();
  EXPECT_EQ(Advance(2 * kSecond), 0U);
  now.wall_us += 3600 * kSecond;
  Crash();
  EXPECT_EQ(Advance(28 * kSecond - 1), 0U);
  EXPECT_EQ(Advance(1), 1U);
}

TEST_F(DelayTest, AClockThatIsSetBackTwiceBeginsADelayTwice) {
  AddAfter("a", 3 * kSecond);
  for (int times = 0; times < 2; ++times) {
    now.wall_us -= 3600 * kSecond;
    Crash();
    EXPECT_EQ(Advance(2 * kSecond), 0U);
  }
  Crash();
  EXPECT_EQ(Advance(1 * kSecond), 1U);
}

TEST_F(DelayTest, SettingTheClockMovesNoDelayOfARunningQueue) {
  for (const int64_t jump : {-86400 * kSecond, 86400 * kSecond}) {
    AddAfter("a", 5 * kSecond);
    now.wall_us += jump;
    EXPECT_EQ(Advance(5 * kSecond - 1), 0U);
    EXPECT_EQ(Advance(1), 1U);
    EXPECT_EQ(Get(), "a");
    EXPECT_TRUE(Done("a"));
    EXPECT_EQ(Disk(), "");
  }
}

TEST_F(DelayTest, TheLongestDelayDoesNotOverflow) {
  AddAfter("a", kMaxDelay.count());
  EXPECT_EQ(Advance(1000), 0U);
  Crash();
  EXPECT_EQ(Counts(), "1 delayed");
}

TEST_F(DelayTest, RecoveryAcceptsAnyReadyAt) {
  storage::MutationBatch batch;
  storage::PutDelayed(7, {.key = "past", .ready_at_us = INT64_MIN, .delay_us = 1}, &batch);
  storage::PutDelayed(7, {.key = "future", .ready_at_us = INT64_MAX, .delay_us = kSecond}, &batch);
  ASSERT_TRUE(storage().Write(batch, false).ok());
  Crash();
  EXPECT_EQ(Advance(0), 1U);
  EXPECT_EQ(Get(), "past");
  EXPECT_EQ(Advance(kSecond), 1U);
  EXPECT_EQ(Get(), "future");
}

// --- Failures ---

TEST_F(DelayTest, AFailureIsCountedAndDelaysTheKey) {
  Add("a");
  Get();
  Fail("a", 5 * kSecond, "no route to host");
  Done("a");
  EXPECT_EQ(Counts(), "1 delayed, 1 failing");
  EXPECT_EQ(Disk(), "delayed:a@5s failing:a=1");
  EXPECT_EQ(state().NumRequeues("a"), 1U);
}

TEST_F(DelayTest, FailuresSurviveACrashUntilForget) {
  for (int i = 0; i < 3; ++i) {
    Fail("a", kSecond);
  }
  Crash();
  EXPECT_EQ(state().NumRequeues("a"), 3U);
  Forget("a");
  EXPECT_EQ(state().NumRequeues("a"), 0U);
  Crash();
  EXPECT_EQ(state().NumRequeues("a"), 0U);
  EXPECT_EQ(Counts(), "1 delayed");
}

TEST_F(DelayTest, ForgetOfAKeyWithoutFailuresHasNoEffect) {
  Add("a");
  Forget("a");
  Forget("unknown");
  EXPECT_EQ(Counts(), "1 queued");
}

TEST_F(DelayTest, ALongErrorIsCutBetweenCharacters) {
  const std::string error(kMaxErrorBytes - 1, 'x');
  Fail("a", kSecond, error + "\xc3\xa4 and more");
  storage::FailureRecord record;
  std::string buffer;
  ASSERT_TRUE(storage::GetFailures(storage(), 7, "a", &buffer, &record).ok());
  EXPECT_EQ(record.last_error, error);
}

TEST_F(DelayTest, AFailureWithoutADelayIsAnAdd) {
  Add("a");
  Get();
  Fail("a", 0);
  Done("a");
  EXPECT_EQ(Counts(), "1 queued, 1 failing");
}

}  // namespace
}  // namespace wq
