// PutBack in the state machine: in every state of a key, in every order; memory and disk after it.

#include <string>

#include <gtest/gtest.h>

#include "tests/engine/state/state_fixture.h"

namespace wq {
namespace {

class PutBackTest : public ::testing::Test, public StateFixture {
 protected:
  bool PutBack(std::string_view key) {
    return Do([key](QueueState& s) { return s.PutBack(key); });
  }
  // How many rows the disk has not, or with another value, or beside the image of memory.
  size_t RowsThatDiffer() {
    storage::MutationBatch rows;
    state().AppendImage(&rows);
    size_t different = 0;
    size_t in_memory = 0;
    rows.ForEach([&](const storage::Mutation& row) {
      std::string value;
      const Status s = storage().Get(row.family, row.key, &value);
      different += s.ok() && value == row.value ? 0 : 1;
      ++in_memory;
    });
    size_t on_disk = 0;
    for (int family = 0; family < storage::kFamilyCount; ++family) {
      const Status s = storage().Scan(static_cast<storage::Family>(family), "", "",
                                      [&on_disk](auto, auto) { return ++on_disk != 0; });
      EXPECT_TRUE(s.ok()) << s.ToString();
    }
    return different + (on_disk - in_memory);
  }
  // Hands out everything that is queued.
  std::string Drain() {
    std::string keys;
    for (std::string key = Get(); !key.empty(); key = Get()) {
      keys += key + " ";
    }
    return keys;
  }
};

// --- The states of a key ---

TEST_F(PutBackTest, AHeldKeyIsQueuedBeforeThoseBehindItAndNothingIsWritten) {
  Add("a");
  Add("b");
  EXPECT_EQ(Get(), "a");
  EXPECT_TRUE(state().PutBack("a"));
  EXPECT_FALSE(HasMutations());
  EXPECT_EQ(Counts(), "2 queued");
  EXPECT_EQ(Disk(), "a b");
  EXPECT_EQ(RowsThatDiffer(), 0U);
  EXPECT_EQ(Drain(), "a b ");
}

TEST_F(PutBackTest, KeysThatAreNotHeldAreRefused) {
  Add("queued");
  AddAfter("delayed", kSecond);
  for (const char* key : {"clean", "queued", "delayed"}) {
    EXPECT_FALSE(PutBack(key)) << key;
  }
  Get();
  EXPECT_TRUE(PutBack("queued"));
  EXPECT_FALSE(PutBack("queued"));
  EXPECT_EQ(Counts(), "1 queued, 1 delayed");
}

TEST_F(PutBackTest, KeysReturnToTheirOrderInWhateverOrderTheyAreGivenBack) {
  for (const std::string order : {"edcba", "abcde", "cadbe", "bdeac"}) {
    for (const char* key : {"a", "b", "c", "d", "e", "f"}) {
      Add(key);
    }
    EXPECT_EQ(GetMany(5), "abcde");
    for (const char key : order) {
      EXPECT_TRUE(PutBack(std::string(1, key)));
    }
    EXPECT_EQ(GetMany(6), "abcdef") << order;
    for (const char* key : {"a", "b", "c", "d", "e", "f"}) {
      Done(key);
    }
  }
}

TEST_F(PutBackTest, AKeyThatWasAddedAgainIsOneHandOutAtItsOldPlace) {
  Add("a");
  Add("b");
  Get();
  now.wall_us += kSecond;  // The record gets the time of the second Add.
  Add("a");
  EXPECT_TRUE(PutBack("a"));
  EXPECT_EQ(Counts(), "2 queued");
  EXPECT_EQ(RowsThatDiffer(), 0U);
  EXPECT_FALSE(state().AddedAgain("a"));
  EXPECT_EQ(Drain(), "a b ");
  Done("a");
  Done("b");
  EXPECT_EQ(Disk(), "");
}

TEST_F(PutBackTest, AnAddSinceGetSetsTheLaneAndTheAgeThePlaceInIt) {
  for (const bool crash : {false, true}) {
    Add("older", kSlowLane);
    Add("a");
    Add("younger", kSlowLane);
    EXPECT_EQ(Get(), "a");
    Add("a", kSlowLane);
    EXPECT_TRUE(PutBack("a"));
    EXPECT_EQ(RowsThatDiffer(), 0U);
    if (crash) {
      Crash();
    }
    EXPECT_EQ(Drain(), "older a younger ");
    for (const char* key : {"older", "a", "younger"}) {
      Done(key);
    }
  }
}

TEST_F(PutBackTest, NoFailureAndNoDoneIsCounted) {
  Add("a");
  Get();
  Fail("a", kSecond);
  const QueueCounts before = state().Counts();
  EXPECT_TRUE(PutBack("a"));
  const QueueCounts after = state().Counts();
  EXPECT_EQ(state().NumRequeues("a"), 1U);
  EXPECT_EQ(after.dones, before.dones);
  EXPECT_EQ(after.adds, before.adds);
  EXPECT_EQ(after.failures, before.failures);
}

TEST_F(PutBackTest, ADelayStaysAsAfterACrash) {
  Add("a");
  Get();
  AddAfter("a", kSecond);
  EXPECT_TRUE(PutBack("a"));
  EXPECT_EQ(Counts(), "1 queued, 1 delayed");
  EXPECT_EQ(Disk(), "a delayed:a@1s");
  EXPECT_EQ(RowsThatDiffer(), 0U);
  EXPECT_EQ(Get(), "a");
  Done("a");
  Advance(kSecond);
  EXPECT_EQ(Drain(), "a ");
}

TEST_F(PutBackTest, ADelayIsMergedUnderMergeDelays) {
  Reopen({.order = Order::kTwoLanes, .merge_delays = true});
  Add("a");
  Get();
  AddAfter("a", kSecond, kSlowLane);
  EXPECT_TRUE(PutBack("a"));
  EXPECT_EQ(Counts(), "1 queued");
  EXPECT_EQ(Disk(), "a");
  EXPECT_EQ(RowsThatDiffer(), 0U);
}

TEST_F(PutBackTest, AMergedDelayRaisesTheLaneIfReAddsDo) {
  Reopen({.order = Order::kPriorities, .re_add = ReAdd::kRaisesLane, .merge_delays = true});
  Add("a", 1);
  Add("b", 2);
  EXPECT_EQ(GetMany(2), "ba");
  AddAfter("a", kSecond, 5);
  AddAfter("b", kSecond, 1);
  EXPECT_TRUE(PutBack("a"));
  EXPECT_TRUE(PutBack("b"));
  EXPECT_EQ(Disk(), "5:a 2:b");
  EXPECT_EQ(RowsThatDiffer(), 0U);
  EXPECT_EQ(Drain(), "a b ");
}

TEST_F(PutBackTest, AKeyThatWasQuarantinedSinceGetStaysInQuarantine) {
  Add("a");
  Get();
  Do([this](QueueState& s) {
    s.Quarantine("a", "boom", now);
    return 0;
  });
  EXPECT_TRUE(PutBack("a"));
  EXPECT_EQ(Counts(), "1 quarantined");
  EXPECT_EQ(Disk(), "quarantined:a=0");
  EXPECT_EQ(RowsThatDiffer(), 0U);
  EXPECT_EQ(Get(), "");
}

TEST_F(PutBackTest, AKeyThatWasQuarantinedAndReleasedSinceGetIsQueuedOnce) {
  Add("a");
  Get();
  Do([this](QueueState& s) {
    s.Quarantine("a", "boom", now);
    return s.Release("a", 0, now);
  });
  EXPECT_TRUE(PutBack("a"));
  EXPECT_EQ(Counts(), "1 queued");
  EXPECT_EQ(RowsThatDiffer(), 0U);
}

TEST_F(PutBackTest, AKeyThatWasDeletedSinceGetIsQueuedAgainAsAfterACrash) {
  Add("a", kFastLane, "group");
  Get();
  Fail("a", kSecond);
  EXPECT_TRUE(Do([](QueueState& s) { return s.Delete("a"); }));
  EXPECT_TRUE(PutBack("a"));
  EXPECT_EQ(Counts(), "1 queued");
  EXPECT_EQ(Disk(), "a");
  EXPECT_EQ(RowsThatDiffer(), 0U);
}

TEST_F(PutBackTest, AnAddSinceGetThatWasRemovedLeavesTheKeyHeld) {
  Add("a");
  Get();
  Add("a");
  EXPECT_TRUE(Do([](QueueState& s) { return s.Remove("a"); }));
  EXPECT_TRUE(PutBack("a"));
  EXPECT_EQ(Counts(), "1 queued");
  EXPECT_EQ(RowsThatDiffer(), 0U);
}

TEST_F(PutBackTest, APausedQueueTakesAKeyBackAndHandsItOutAfterResume) {
  Add("a");
  Add("b");
  Get();
  Do([this](QueueState& s) {
    s.Pause(std::nullopt, now);
    return 0;
  });
  EXPECT_TRUE(PutBack("a"));
  EXPECT_EQ(Get(), "");
  Do([](QueueState& s) {
    s.Resume();
    return 0;
  });
  EXPECT_EQ(Drain(), "a b ");
}

// --- Orders ---

TEST_F(PutBackTest, EachLaneKeepsItsOrder) {
  Add("fast-1");
  Add("slow-1", kSlowLane);
  Add("slow-2", kSlowLane);
  Add("fast-2");
  for (const char* key : {"fast-1", "fast-2", "slow-1", "slow-2"}) {
    EXPECT_EQ(Get(), key);
  }
  for (const char* key : {"slow-2", "fast-1", "slow-1", "fast-2"}) {
    EXPECT_TRUE(PutBack(key));
  }
  EXPECT_EQ(Drain(), "fast-1 fast-2 slow-1 slow-2 ");
}

TEST_F(PutBackTest, APriorityWithoutOtherKeysIsMadeAnew) {
  Reopen({.order = Order::kPriorities});
  Add("a", 7);
  Add("b", 3);
  EXPECT_EQ(Get(), "a");
  EXPECT_TRUE(PutBack("a"));
  EXPECT_EQ(Drain(), "a b ");
}

TEST_F(PutBackTest, TheStarvationBoundCountsHandOutsThatWereGivenBack) {
  Reopen({.order = Order::kTwoLanes, .starvation_bound = 3});
  Add("slow", kSlowLane);
  Add("a");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Get(), "a");
    EXPECT_TRUE(PutBack("a"));
  }
  EXPECT_EQ(Get(), "slow");
}

TEST_F(PutBackTest, AFairOrderServesTheGroupNext) {
  Reopen({.order = Order::kFair});
  Add("a1", {}, "a");
  Add("a2", {}, "a");
  Add("b1", {}, "b");
  Add("c1", {}, "c");
  EXPECT_EQ(GetMany(3), "a1b1c1");
  for (const char* key : {"c1", "b1", "a1"}) {  // Newest first: as if none was handed out.
    EXPECT_TRUE(PutBack(key));
  }
  EXPECT_EQ(Drain(), "a1 b1 c1 a2 ");
}

TEST_F(PutBackTest, AShardHandsOutTheKeyThatWasGivenBackFirst) {
  Reopen({.shards = 1});
  Add("a");
  Add("b");
  EXPECT_EQ(Get(), "a");
  EXPECT_EQ(Get(), "");  // One key of a shard at a time.
  const uint64_t readied = state().readied();
  EXPECT_TRUE(PutBack("a"));
  EXPECT_GT(state().readied(), readied);
  EXPECT_EQ(Get(), "a");
  Done("a");
  EXPECT_EQ(Get(), "b");
}

TEST_F(PutBackTest, AShardIsFreeAfterAKeyInQuarantineIsGivenBack) {
  Reopen({.shards = 1});
  Add("a");
  Add("b");
  EXPECT_EQ(Get(), "a");
  Do([this](QueueState& s) {
    s.Quarantine("a", "", now);
    return 0;
  });
  const uint64_t readied = state().readied();
  EXPECT_TRUE(PutBack("a"));
  EXPECT_EQ(state().readied(), readied + 1);
  EXPECT_EQ(Get(), "b");
}

// --- Crashes ---

TEST_F(PutBackTest, ACrashFindsTheSameQueue) {
  for (const char* key : {"a", "b", "c", "d"}) {
    Add(key);
  }
  EXPECT_EQ(GetMany(3), "abc");
  Done("b");
  EXPECT_TRUE(PutBack("c"));
  Crash();
  EXPECT_EQ(Drain(), "a c d ");
}

}  // namespace
}  // namespace wq
