// The transitions of one key and of lanes, and the same after a crash.

#include "engine/state/queue_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/state/state_fixture.h"

namespace wq {
namespace {

class QueueStateTest : public ::testing::Test, public StateFixture {};

// --- The table of wq/queue.h, row by row ---

TEST_F(QueueStateTest, ADelayHasBegunAtTheBeginOfTheClockAtTheEarliest) {
  now.wall_us = INT64_MIN;
  AddAfter("a", kSecond);
  now.wall_us = INT64_MIN + 10;
  const Debounce debounce{std::chrono::seconds(1), std::chrono::seconds(5)};
  Do([&](QueueState& state) { return state.AddDebounced("b", debounce, {}, now); });
  now.steady_us += kSecond / 2;
  Do([&](QueueState& state) { return state.AddDebounced("b", debounce, {}, now); });
  EXPECT_EQ(state().Find("a")->delay->added_at_us, INT64_MIN);
  EXPECT_EQ(state().Find("b")->delay->added_at_us, INT64_MIN);
}

TEST_F(QueueStateTest, AddOfACleanKeyQueuesIt) {
  EXPECT_EQ(Add("a"), AddOutcome::kAdded);
  EXPECT_EQ(Counts(), "1 queued");
  EXPECT_EQ(Disk(), "a");
}

TEST_F(QueueStateTest, AddOfAQueuedKeyIsDeduplicated) {
  Add("a");
  Add("b");
  EXPECT_EQ(Add("a"), AddOutcome::kDeduplicated);
  EXPECT_EQ(Counts(), "2 queued");
  EXPECT_EQ(Get(), "a");  // The second Add has not moved it.
}

TEST_F(QueueStateTest, AddWhileProcessingMarksTheKeyDirtyAndQueuesItAtDone) {
  Add("a");
  EXPECT_EQ(Get(), "a");
  EXPECT_FALSE(state().AddedAgain("a"));
  EXPECT_EQ(Add("a"), AddOutcome::kAdded);
  EXPECT_TRUE(state().AddedAgain("a"));
  EXPECT_EQ(Counts(), "1 processing");
  EXPECT_EQ(Get(), "");  // Never to two workers at once.
  EXPECT_TRUE(Done("a"));
  EXPECT_EQ(Counts(), "1 queued");
  EXPECT_EQ(Disk(), "a");
}

TEST_F(QueueStateTest, CollapseWhileProcessing) {
  Add("a");
  Get();
  EXPECT_EQ(Add("a"), AddOutcome::kAdded);
  EXPECT_EQ(Add("a"), AddOutcome::kDeduplicated);
  EXPECT_EQ(Add("a"), AddOutcome::kDeduplicated);
  Done("a");
  EXPECT_EQ(Get(), "a");
  EXPECT_EQ(Get(), "");
}

TEST_F(QueueStateTest, DoneOfAProcessingKeyCleansItFromMemoryAndDisk) {
  Add("a");
  Get();
  EXPECT_EQ(Disk(), "a");  // On disk exactly while dirty or processing.
  EXPECT_TRUE(Done("a"));
  EXPECT_EQ(Counts(), "clean");
  EXPECT_EQ(Disk(), "");
}

TEST_F(QueueStateTest, DoneOfADirtyKeyGoesToTheBack) {
  Add("a");
  Add("b");
  Get();
  Add("a");
  Done("a");
  EXPECT_EQ(Disk(), "b a");
  EXPECT_EQ(Get(), "b");
  EXPECT_EQ(Get(), "a");
}

TEST_F(QueueStateTest, DoneOfAKeyThatIsNotProcessingChangesNothing) {
  Add("queued");
  EXPECT_FALSE(Done("clean"));
  EXPECT_FALSE(Done("queued"));
  EXPECT_EQ(Counts(), "1 queued");
  Get();
  EXPECT_TRUE(Done("queued"));
  EXPECT_FALSE(Done("queued"));  // The second Done changes no count.
  EXPECT_EQ(Counts(), "clean");
}

TEST_F(QueueStateTest, HandsOutInTheOrderOfAdds) {
  for (const char* key : {"c", "a", "b"}) {
    Add(key);
  }
  EXPECT_EQ(GetMany(3), "cab");
}

TEST_F(QueueStateTest, KeysAreBytes) {
  const std::string with_nul("a\0b", 3);
  Add(with_nul);
  Add("a");
  Add("\xff\xfe");
  Crash();
  EXPECT_EQ(Get(), with_nul);
  EXPECT_EQ(Get(), "a");
  EXPECT_EQ(Get(), "\xff\xfe");
}

// --- Crashes ---

TEST_F(QueueStateTest, ProcessingComesBackBeforeWhatWasQueuedBehindIt) {
  for (const char* key : {"a", "b", "c"}) {
    Add(key);
  }
  Get();
  Get();
  Done("a");
  Crash();
  EXPECT_EQ(Counts(), "2 queued");
  EXPECT_EQ(Get(), "b");
  EXPECT_EQ(Get(), "c");
}

TEST_F(QueueStateTest, ProcessingAndDirtyComesBackOnce) {
  Add("a");
  Get();
  Add("a");
  Crash();
  EXPECT_EQ(Counts(), "1 queued");
  EXPECT_EQ(Get(), "a");
  Done("a");
  EXPECT_EQ(Disk(), "");
}

TEST_F(QueueStateTest, OrderSurvivesACrashOverManyBlocksOfSequences) {
  const auto key = [](size_t i) { return "key-" + std::to_string(i * 7919 % 100000); };
  const size_t n = 3 * storage::kSequencesPerBlock;
  for (size_t i = 0; i < n; ++i) {
    Add(key(i));
  }
  Crash();
  for (size_t i = 0; i < n; ++i) {
    ASSERT_EQ(Get(), key(i)) << i;
  }
}

TEST_F(QueueStateTest, SequencesAreNotReusedAfterACrash) {
  Add("a");
  Get();
  Done("a");
  Crash();
  Add("b");
  uint64_t sequence = 0;
  ASSERT_TRUE(storage::ScanPending(storage(), 7, [&](const storage::PendingRecord& r) {
                sequence = r.sequence;
                return true;
              }).ok());
  EXPECT_GT(sequence, 1U);
}

TEST_F(QueueStateTest, RecoveryTwiceIsRecoveryOnce) {
  Add("a", kSlowLane);
  Add("b");
  AddAfter("c", 5 * kSecond);
  Fail("d", 9 * kSecond);
  const std::string before = Disk();
  Crash();
  Crash();
  EXPECT_EQ(Disk(), before);
}

TEST_F(QueueStateTest, RecoveryRefusesAKeyThatIsPendingTwice) {
  Add("a");
  storage::MutationBatch batch;
  storage::PutPending(7, {.key = "a", .lane = kSlowLane, .sequence = 2}, &batch);
  ASSERT_TRUE(storage().Write(batch, false).ok());
  QueueState fresh(7, {.order = Order::kTwoLanes}, nullptr);
  const Status s = RestoreQueue(storage(), 7, now, &fresh);
  EXPECT_EQ(s.code(), StatusCode::kCorruption);
  EXPECT_THAT(s.message(), ::testing::HasSubstr("'a'"));
}

TEST_F(QueueStateTest, RecoveryRefusesASequenceAboveTheHighWaterMark) {
  Add("a");
  storage::MutationBatch batch;
  storage::PutPending(7, {.key = "b", .sequence = uint64_t{1} << 40}, &batch);
  ASSERT_TRUE(storage().Write(batch, false).ok());
  QueueState fresh(7, {}, nullptr);
  EXPECT_EQ(RestoreQueue(storage(), 7, now, &fresh).code(), StatusCode::kCorruption);
}

// --- Two lanes ---

TEST_F(QueueStateTest, TheFastLaneIsServedFirst) {
  Add("s1", kSlowLane);
  Add("f1", kFastLane);
  Add("s2", kSlowLane);
  Add("f2");
  EXPECT_EQ(Disk(), "f1 f2 slow:s1 slow:s2");
  EXPECT_EQ(GetMany(4), "f1f2s1s2");
}

TEST_F(QueueStateTest, TouchMovesAQueuedKeyToTheBackOfTheLaneOfItsLatestAdd) {
  Add("a", kSlowLane);
  Add("b", kSlowLane);
  Add("c", kFastLane);
  EXPECT_EQ(Add("a", kFastLane), AddOutcome::kDeduplicated);
  EXPECT_EQ(Disk(), "c a slow:b");
  Add("c", kSlowLane);
  EXPECT_EQ(Disk(), "a slow:b slow:c");
  EXPECT_EQ(GetMany(3), "abc");
}

TEST_F(QueueStateTest, AddToTheSameLaneKeepsThePlace) {
  Add("a", kSlowLane);
  Add("b", kSlowLane);
  Add("a", kSlowLane);
  EXPECT_EQ(Disk(), "slow:a slow:b");
}

TEST_F(QueueStateTest, AddWithoutALaneKeepsTheLane) {
  Add("a", kSlowLane);
  Add("a");
  EXPECT_EQ(Disk(), "slow:a");
  Get();
  Add("a");
  Done("a");
  EXPECT_EQ(Disk(), "slow:a");
}

TEST_F(QueueStateTest, TheLatestLaneIsRememberedWhileProcessing) {
  Add("a", kSlowLane);
  Get();
  Add("a", kFastLane);
  EXPECT_EQ(Disk(), "a");  // The lane that it has after a crash.
  Add("a", kSlowLane);
  Add("a", kFastLane);
  Add("b", kFastLane);
  Done("a");
  EXPECT_EQ(Disk(), "b a");
}

TEST_F(QueueStateTest, ARequeueKeepsTheLane) {
  Add("a", kSlowLane);
  Get();
  Fail("a", kSecond);
  Done("a");
  EXPECT_EQ(Disk(), "delayed:slow:a@1s failing:a=1");
  Crash();
  Advance(kSecond);
  EXPECT_EQ(Disk(), "slow:a failing:a=1");
}

TEST_F(QueueStateTest, AFiringDelayNeverPutsAKeyIntoALowerLane) {
  AddAfter("a", kSecond, kSlowLane);
  Add("a", kFastLane);
  Advance(kSecond);
  EXPECT_EQ(Disk(), "a");
  AddAfter("b", kSecond, kFastLane);
  Add("b", kSlowLane);
  Advance(kSecond);
  EXPECT_EQ(Disk(), "a b");
}

TEST_F(QueueStateTest, LanesSurviveACrash) {
  Add("s1", kSlowLane);
  Add("f1");
  Add("s2", kSlowLane);
  EXPECT_EQ(Get(), "f1");
  Crash();
  EXPECT_EQ(GetMany(3), "f1s1s2");
}

TEST_F(QueueStateTest, AnOrderWithoutTheLaneTakesItsKeysAtTheBack) {
  Add("s1", kSlowLane);
  Add("f1");
  Add("s2", kSlowLane);
  Reopen({.order = Order::kFifo});
  EXPECT_EQ(Disk(), "f1 s1 s2");
  Crash();
  EXPECT_EQ(GetMany(3), "f1s1s2");
}

TEST_F(QueueStateTest, CountsNameTheLanes) {
  Add("s1", kSlowLane);
  Add("s2", kSlowLane);
  Add("f1");
  EXPECT_THAT(state().Counts().lanes,
              ::testing::ElementsAre(::testing::Pair(kSlowLane, 2), ::testing::Pair(kFastLane, 1)));
}

// --- Positions ---

TEST_F(QueueStateTest, ADeduplicatedAddWritesNothingAndHasThePositionOfTheFirst) {
  storage::MutationBatch batch;
  QueueState state(1, {}, &batch);
  EXPECT_EQ(state.Add("a", {}, 0).position, 0U);
  state.Stamp(41);
  batch.Clear();
  EXPECT_EQ(state.Add("a", {}, 0).position, 41U);
  EXPECT_TRUE(batch.empty());
  state.Get(0);
  EXPECT_EQ(state.Add("a", {}, 0).position, 41U);  // Processing: its record is unchanged.
  EXPECT_TRUE(batch.empty());
}

}  // namespace
}  // namespace wq
