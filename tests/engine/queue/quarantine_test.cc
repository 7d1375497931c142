// Quarantine, taking back, cursors and pausing: in the state machine, each also over a crash, and through
// the queue where the shell adds something.

#include <future>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/queue/queue_fixture.h"
#include "tests/engine/state/state_fixture.h"

namespace wq {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::seconds;

// --- Quarantine ---

class QuarantineTest : public ::testing::Test, public StateFixture {
 protected:
  QuarantineTest() { Reopen({.order = Order::kTwoLanes, .max_requeues = 2}); }

  // Hands "a" out and lets it fail, until it is quarantined.
  void Exhaust() {
    Add("a", kSlowLane, "g");
    for (const AddOutcome expected : {AddOutcome::kAdded, AddOutcome::kAdded, AddOutcome::kHeld}) {
      ASSERT_EQ(Get(), "a");
      ASSERT_EQ(Fail("a", kSecond, "no route"), expected);
      ASSERT_TRUE(Done("a"));
      Advance(kSecond);
    }
  }
};

TEST_F(QuarantineTest, AKeyThatFailsTooOftenIsKeptOutOfTheQueue) {
  Exhaust();
  EXPECT_EQ(Counts(), "1 quarantined");
  EXPECT_EQ(Disk(), "quarantined:a=3");
  EXPECT_EQ(state().NumRequeues("a"), 3U);
  Crash();
  EXPECT_EQ(Counts(), "1 quarantined");
  const auto keys = state().Quarantined();
  ASSERT_EQ(keys.size(), 1U);
  EXPECT_EQ(keys[0].key, "a");
  EXPECT_EQ(keys[0].failures, 3U);
  EXPECT_EQ(keys[0].last_error, "no route");
}

TEST_F(QuarantineTest, AnAddIsHeld) {
  Exhaust();
  EXPECT_EQ(Add("a"), AddOutcome::kHeld);
  EXPECT_EQ(AddAfter("a", kSecond), AddOutcome::kHeld);
  EXPECT_EQ(Fail("a", kSecond), AddOutcome::kHeld);
  Forget("a");
  EXPECT_EQ(Counts(), "1 quarantined");
  EXPECT_EQ(state().NumRequeues("a"), 3U);
}

TEST_F(QuarantineTest, AnAddReleasesWhereTheOptionSaysSo) {
  Exhaust();
  Reopen({.max_requeues = 2, .quarantined_add = QuarantinedAdd::kRelease});
  EXPECT_EQ(Add("a"), AddOutcome::kAdded);
  EXPECT_EQ(Disk(), "a");
  EXPECT_EQ(state().NumRequeues("a"), 0U);
}

TEST_F(QuarantineTest, ReleaseAddsTheKeyToItsLaneAndGroupWithoutFailures) {
  Exhaust();
  Crash();
  EXPECT_TRUE(Do([this](QueueState& s) { return s.Release("a", now.wall_us); }));
  EXPECT_EQ(Disk(), "slow:a");
  std::string group;
  state().ForEachQueued([&group](const Item& item) {
    group = item.group_name();
    return true;
  });
  EXPECT_EQ(group, "g");
  EXPECT_FALSE(Do([this](QueueState& s) { return s.Release("a", now.wall_us); }));
}

TEST_F(QuarantineTest, DropForgetsTheKey) {
  Exhaust();
  EXPECT_TRUE(Do([](QueueState& s) { return s.Drop("a"); }));
  EXPECT_FALSE(Do([](QueueState& s) { return s.Drop("a"); }));
  EXPECT_EQ(Counts(), "clean");
  EXPECT_EQ(Disk(), "");
}

TEST_F(QuarantineTest, AQueuedDelayedOrHeldKeyCanBePutThere) {
  const auto quarantine = [this](const char* key) {
    Do([&](QueueState& s) {
      s.Quarantine(key, "by hand", now.wall_us);
      return 0;
    });
  };
  Add("queued");
  AddAfter("delayed", kSecond);
  Add("held");
  Get();
  Get();
  Add("held");  // And dirty.
  Done("queued");
  Add("queued");
  quarantine("queued");
  quarantine("delayed");
  quarantine("held");
  quarantine("unknown");
  quarantine("unknown");
  EXPECT_EQ(Counts(), "1 processing, 4 quarantined");
  EXPECT_EQ(Advance(kSecond), 0U);
  Crash();  // The worker had not called Done: the key must not come back.
  EXPECT_EQ(Counts(), "4 quarantined");
  EXPECT_THAT(Disk(), ::testing::StartsWith("quarantined:"));
}

TEST_F(QuarantineTest, DoneAfterQuarantineCleansUp) {
  Add("a");
  Get();
  Do([this](QueueState& s) {
    s.Quarantine("a", "", now.wall_us);
    return 0;
  });
  EXPECT_EQ(Add("a"), AddOutcome::kHeld);
  EXPECT_TRUE(Done("a"));
  EXPECT_EQ(Disk(), "quarantined:a=0");
}

// --- Taking back ---

TEST_F(QuarantineTest, RemoveTakesBackAQueuedKey) {
  Add("a");
  Add("b");
  Fail("b", kSecond);
  EXPECT_TRUE(Do([](QueueState& s) { return s.Remove("a"); }));
  EXPECT_FALSE(Do([](QueueState& s) { return s.Remove("a"); }));
  EXPECT_TRUE(Do([](QueueState& s) { return s.Remove("b"); }));
  EXPECT_EQ(Disk(), "delayed:b@1s failing:b=1");  // Delay and failures stay.
}

TEST_F(QuarantineTest, RemoveOfAProcessingKeyTakesBackTheAddThatCameMeanwhile) {
  Add("a");
  Get();
  EXPECT_FALSE(Do([](QueueState& s) { return s.Remove("a"); }));
  Add("a");
  EXPECT_TRUE(Do([](QueueState& s) { return s.Remove("a"); }));
  EXPECT_EQ(Disk(), "a");  // Still held: a crash brings it back.
  Done("a");
  EXPECT_EQ(Counts(), "clean");
}

TEST_F(QuarantineTest, CancelDelayTakesBackADelay) {
  AddAfter("a", kSecond);
  EXPECT_TRUE(Do([](QueueState& s) { return s.CancelDelay("a"); }));
  EXPECT_FALSE(Do([](QueueState& s) { return s.CancelDelay("a"); }));
  EXPECT_EQ(Disk(), "");
  EXPECT_EQ(Advance(kSecond), 0U);
}

TEST_F(QuarantineTest, EndDelayMakesAKeyPendingNowInOneStep) {
  Fail("a", 3600 * kSecond);
  EXPECT_TRUE(Do([this](QueueState& s) { return s.EndDelay("a", now); }));
  EXPECT_FALSE(Do([this](QueueState& s) { return s.EndDelay("a", now); }));
  EXPECT_EQ(Disk(), "a failing:a=1");  // The failure stays.
  EXPECT_EQ(Get(), "a");
  EXPECT_EQ(state().Counts().adds, 1U);
  EXPECT_EQ(state().Counts().failures, 1U);
}

// --- Pausing ---

TEST_F(QuarantineTest, APausedQueueHandsNothingOut) {
  Add("a");
  Do([this](QueueState& s) {
    s.Pause(std::nullopt, now);
    return 0;
  });
  EXPECT_EQ(Get(), "");
  EXPECT_EQ(Counts(), "1 queued");
  Crash();
  EXPECT_EQ(Get(), "");
  Advance(1'000'000 * kSecond);
  EXPECT_EQ(Get(), "");
  Do([](QueueState& s) {
    s.Resume();
    return 0;
  });
  Crash();
  EXPECT_EQ(Get(), "a");
}

TEST_F(QuarantineTest, APauseMayEndByItselfOverACrashToo) {
  Add("a");
  Do([this](QueueState& s) {
    s.Pause(10 * kSecond, now);
    return 0;
  });
  Advance(4 * kSecond);
  Crash();
  Advance(6 * kSecond - 1);
  EXPECT_EQ(Get(), "");
  Advance(1);
  EXPECT_EQ(Get(), "a");
  Crash();
  EXPECT_FALSE(state().paused());
}

// --- Through the queue ---

using QueueControlTest = QueueTest;

TEST_F(QueueControlTest, CursorsAreBytesInOrderWithTheAddsBeforeThem) {
  ASSERT_TRUE(queue_->Add("a", {.durability = Durability::kAsync}).ok());
  const std::string value("at\0 5", 5);
  ASSERT_TRUE(queue_->SetCursor("watch", value).ok());
  ASSERT_TRUE(queue_->SetCursor("empty", "").ok());
  EXPECT_EQ(RecordsOnDisk(storage::Family::kDirty), 1U);
  CloseAndOpen();
  std::string found;
  ASSERT_TRUE(queue_->GetCursor("watch", &found).ok());
  EXPECT_EQ(found, value);
  EXPECT_EQ(queue_->Cursors().size(), 2U);
  ASSERT_TRUE(queue_->EraseCursor("watch").ok());
  EXPECT_EQ(queue_->EraseCursor("watch").code(), StatusCode::kNotFound);
  CloseAndOpen();
  EXPECT_EQ(queue_->GetCursor("watch", &found).code(), StatusCode::kNotFound);
}

TEST_F(QueueControlTest, BadCursorsAreRefused) {
  EXPECT_EQ(queue_->SetCursor("", "v").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(queue_->SetCursor("a/b", "v").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(queue_->SetCursor("big", std::string(kMaxCursorBytes + 1, 'x')).code(),
            StatusCode::kInvalidArgument);
  EXPECT_TRUE(queue_->SetCursor("big", std::string(kMaxCursorBytes, 'x')).ok());
}

TEST_F(QueueControlTest, ListingsAndPositionsFollowTheHandOutOrder) {
  for (const char* key : {"a", "b", "c", "d"}) {
    Add(key);
  }
  ASSERT_TRUE(queue_->Add("b", {.lane = kSlowLane}).ok());
  const auto listed = queue_->List(1, 2);
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[0].key, "c");
  EXPECT_EQ(listed[1].key, "d");
  EXPECT_TRUE(queue_->List(4, 10).empty());
  size_t position = 0;
  ASSERT_TRUE(queue_->PositionOf("b", &position).ok());
  EXPECT_EQ(position, 3U);
  EXPECT_EQ(queue_->PositionOf("nobody", &position).code(), StatusCode::kNotFound);
}

TEST_F(QueueControlTest, ResumeWakesAWaitingGet) {
  Add("a");
  ASSERT_TRUE(queue_->Pause().ok());
  EXPECT_TRUE(queue_->Counts().paused);
  auto key = GetInBackground();
  ASSERT_TRUE(queue_->Resume().ok());
  EXPECT_EQ(key.get(), "a");
}

TEST_F(QueueControlTest, ThePausesOwnEndWakesAWaitingGet) {
  Add("a");
  ASSERT_TRUE(queue_->Pause(seconds(30)).ok());
  auto key = GetInBackground();
  clock_.Advance(seconds(30));
  EXPECT_EQ(key.get(), "a");
  EXPECT_EQ(queue_->Pause(microseconds(0)).code(), StatusCode::kInvalidArgument);
}

TEST_F(QueueControlTest, ShutDownOfAPausedQueueLeavesItsKeys) {
  Add("a");
  ASSERT_TRUE(queue_->Pause().ok());
  auto key = GetInBackground();
  EXPECT_TRUE(queue_->ShutDownWithDrain(hours(1)).ok());
  EXPECT_EQ(key.get(), "ShuttingDown");
  CloseAndOpen();
  EXPECT_EQ(Get(), "TimedOut");  // Still paused.
  ASSERT_TRUE(queue_->Resume().ok());
  EXPECT_EQ(Get(), "a");
}

TEST_F(QueueControlTest, TheBucketGivesNoFreshBurstAtEachStart) {
  for (int start = 0; start < 4; ++start) {
    CloseAndOpen({.limiter = std::make_shared<Bucket>(0.001, 2)});
    for (int i = 0; i < 2; ++i) {
      AddOutcome outcome{};
      ASSERT_TRUE(
          queue_->AddRateLimited("k" + std::to_string(start) + std::to_string(i), "", {}, &outcome)
              .ok());
    }
  }
  EXPECT_EQ(queue_->Len(), 2U);  // The burst of two, once; the others wait.
  EXPECT_EQ(queue_->Counts().delayed, 6U);
}

TEST_F(QueueControlTest, MissingKeysAreNotFound) {
  EXPECT_EQ(queue_->Remove("x").code(), StatusCode::kNotFound);
  EXPECT_EQ(queue_->CancelDelay("x").code(), StatusCode::kNotFound);
  EXPECT_EQ(queue_->EndDelay("x").code(), StatusCode::kNotFound);
  EXPECT_EQ(queue_->Release("x").code(), StatusCode::kNotFound);
  EXPECT_EQ(queue_->Drop("x").code(), StatusCode::kNotFound);
  EXPECT_EQ(queue_->Quarantine("", "why").code(), StatusCode::kInvalidArgument);
}

TEST_F(QueueControlTest, AnOversizedGroupIsRefused) {
  const std::string group(kMaxGroupBytes + 1, 'g');
  EXPECT_EQ(queue_->Add("a", {.group = group}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(queue_->Len(), 0U);
}

}  // namespace
}  // namespace wq
