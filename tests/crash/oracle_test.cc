// The oracle must find planted violations: a check that cannot fail is useless. A life of known
// calls is judged against a disk on which one fact is wrong.

#include "tests/support/oracle.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wq::support {
namespace {

constexpr int64_t kSecond = 1'000'000;

class OracleTest : public ::testing::Test {
 protected:
  // Makes a call on queue "two-lanes", and adds it to the life, with its result if it `returned`.
  void Do(const Call& call, bool returned = true) {
    StoreCall on_queue{.queue = 1, .call = call};
    std::string said = model_.Do(on_queue);
    life_.calls.push_back(on_queue);
    if (returned) {
      life_.results.push_back(std::move(said));
    }
  }

  StoreImage OnDisk() const {
    StoreImage image;
    for (size_t i = 0; i < model_.queues(); ++i) {
      image.push_back(model_.queue(i).OnDisk());
    }
    return image;
  }

  // The first property that the oracle reports as violated after `change` of the disk of all calls.
  std::optional<Property> Broken(const std::function<void(Image*)>& change) const {
    StoreImage found = OnDisk();
    change(&found[1]);
    Oracle oracle(rules_, kStartWallUs);
    const std::vector<Violation> violations = oracle.Judge(life_, found);
    return violations.empty() ? std::nullopt : std::optional(violations.front().property);
  }

  const std::vector<QueueRules> rules_ = AllPolicies();
  NaiveStore model_{rules_, kStartWallUs};
  Life life_;
};

const auto kNothing = [](Image*) {};

TEST_F(OracleTest, AcceptsTheStateOfAllCalls) {
  Do({.op = Op::kAdd, .key = "a"});
  Do({.op = Op::kAddAfter, .key = "b", .delay_us = kSecond});
  EXPECT_EQ(Broken(kNothing), std::nullopt);
}

TEST_F(OracleTest, AnAcknowledgedAddMustBeThere) {
  Do({.op = Op::kAdd, .key = "a"});
  Do({.op = Op::kAdd, .key = "b"});
  EXPECT_EQ(Broken([](Image* image) { image->pending.pop_back(); }), Property::kNoLostCall);
}

TEST_F(OracleTest, AnUnacknowledgedAddMayBeThere) {
  Do({.op = Op::kAdd, .key = "a"});
  Do({.op = Op::kAdd, .key = "b"}, false);
  EXPECT_EQ(Broken(kNothing), std::nullopt);
  EXPECT_EQ(Broken([](Image* image) { image->pending.pop_back(); }), std::nullopt);
}

TEST_F(OracleTest, AKillMayTakeWhatWasAcknowledgedAtAsync) {
  life_.level = Durability::kAsync;
  Do({.op = Op::kAdd, .key = "a"});
  Do({.op = Op::kAdd, .key = "b"});
  EXPECT_EQ(Broken([](Image* image) { image->pending.pop_back(); }), std::nullopt);
  // But a call in the middle must not be lost.
  EXPECT_EQ(Broken([](Image* image) { image->pending.erase(image->pending.begin()); }),
            Property::kAtMostOnce);
}

TEST_F(OracleTest, APowerCutTakesNothingBeforeABarrier) {
  life_.crash = CrashKind::kPowerCut;
  Do({.op = Op::kAdd, .key = "a"});
  EXPECT_EQ(Broken([](Image* image) { image->pending.clear(); }), std::nullopt);
  Do({.op = Op::kFlush, .durability = Durability::kPower});
  EXPECT_EQ(Broken([](Image* image) { image->pending.clear(); }), Property::kNoLostCall);
}

TEST_F(OracleTest, APowerCutTakesNothingThatWasAcknowledgedAtPower) {
  life_.crash = CrashKind::kPowerCut;
  Do({.op = Op::kAdd, .key = "a"});
  Do({.op = Op::kAdd, .key = "b", .durability = Durability::kPower});
  Do({.op = Op::kAdd, .key = "c"});
  EXPECT_EQ(Broken([](Image* image) { image->pending.pop_back(); }), std::nullopt);
  EXPECT_EQ(Broken([](Image* image) { image->pending.resize(1); }), Property::kNoLostCall);
}

TEST_F(OracleTest, HalfACallIsNone) {
  Do({.op = Op::kAddRateLimited, .key = "a", .delay_us = kSecond}, false);
  EXPECT_EQ(Broken([](Image* image) { image->failing.clear(); }), Property::kAtMostOnce);
  EXPECT_EQ(Broken([](Image* image) { *image = {}; }), std::nullopt);
}

TEST_F(OracleTest, WhatWasProcessingReturns) {
  Do({.op = Op::kAdd, .key = "a"});
  Do({.op = Op::kGet});
  EXPECT_EQ(Broken([](Image* image) { image->pending.clear(); }), Property::kProcessingReturns);
}

TEST_F(OracleTest, WhatWasDoneStaysAway) {
  Do({.op = Op::kAdd, .key = "a"});
  Do({.op = Op::kGet});
  Do({.op = Op::kDone, .key = "a"});
  Do({.op = Op::kAdd, .key = "b"});  // Waits for the removal, too.
  EXPECT_EQ(Broken([](Image* image) {
              image->pending.insert(image->pending.begin(), {.key = "a", .lane = 0, .group = ""});
            }),
            Property::kNoResurrection);
}

TEST_F(OracleTest, OrderAndLanes) {
  Do({.op = Op::kAdd, .key = "a"});
  Do({.op = Op::kAdd, .key = "b"});
  EXPECT_EQ(Broken([](Image* image) { std::swap(image->pending[0], image->pending[1]); }),
            Property::kOrder);
  EXPECT_EQ(Broken([](Image* image) { image->pending[1].lane = kSlowLane; }), Property::kOrder);
}

TEST_F(OracleTest, ReadyTimes) {
  Do({.op = Op::kAddAfter, .key = "a", .delay_us = kSecond});
  EXPECT_EQ(Broken([](Image* image) { image->delayed[0].ready_at_us -= 1; }), Property::kReadyTime);
  EXPECT_EQ(Broken([](Image* image) { image->delayed.clear(); }), Property::kReadyTime);
}

TEST_F(OracleTest, FailureCounts) {
  Do({.op = Op::kAddRateLimited, .key = "a", .delay_us = kSecond});
  EXPECT_EQ(Broken([](Image* image) { image->failing["a"] = 2; }), Property::kFailureCount);
  EXPECT_EQ(Broken([](Image* image) { image->failing.clear(); }), Property::kFailureCount);
  EXPECT_EQ(Broken([](Image* image) { image->limiter_state = "0"; }), Property::kFailureCount);
}

TEST_F(OracleTest, Cursors) {
  Do({.op = Op::kAdd, .key = "a"}, false);
  Do({.op = Op::kSetCursor, .key = "7"}, false);
  EXPECT_EQ(Broken([](Image* image) { image->pending.clear(); }), Property::kCursor)
      << "what was added before the cursor is missing";
  EXPECT_EQ(Broken([](Image* image) { image->cursors["c"] = "8"; }), Property::kCursor);
}

TEST_F(OracleTest, ACrashInRecoveryChangesNothing) {
  Oracle oracle(rules_, kStartWallUs);
  Do({.op = Op::kAdd, .key = "a"});
  const StoreImage found = OnDisk();
  EXPECT_TRUE(oracle.Judge(life_, found).empty());
  EXPECT_TRUE(oracle.Judge({}, found).empty());
  StoreImage emptied = found;
  emptied[1] = {};
  const std::vector<Violation> violations = oracle.Judge({}, emptied);
  ASSERT_FALSE(violations.empty());
  EXPECT_EQ(violations.back().property, Property::kRecoveryIsRepeatable);
}

TEST_F(OracleTest, AKeyIsNotHandedOutTwice) {
  Do({.op = Op::kAdd, .key = "a"});
  Do({.op = Op::kGet});
  Do({.op = Op::kGet});
  life_.results.back() = "a";
  EXPECT_EQ(Broken(kNothing), Property::kOneHolder);
}

TEST_F(OracleTest, ADelayedKeyIsNotHandedOut) {
  Do({.op = Op::kAddAfter, .key = "a", .delay_us = kSecond});
  Do({.op = Op::kGet});
  life_.results.back() = "a";
  EXPECT_EQ(Broken(kNothing), Property::kReadyTime);
}

TEST_F(OracleTest, AKeyIsQueuedOnce) {
  Do({.op = Op::kAdd, .key = "a"});
  Do({.op = Op::kAdd, .key = "a"});
  life_.results.back() = "added";
  EXPECT_EQ(Broken(kNothing), Property::kOneState);
}

TEST_F(OracleTest, TimeMayHaveMovedSomeQueuesOnly) {
  for (const size_t queue : {size_t{0}, size_t{1}}) {
    const StoreCall call{.queue = queue,
                         .call = {.op = Op::kAddAfter, .key = "a", .delay_us = kSecond}};
    life_.results.push_back(model_.Do(call));
    life_.calls.push_back(call);
  }
  const StoreImage before = OnDisk();
  Do({.op = Op::kAdvance, .delay_us = 2 * kSecond}, false);
  EXPECT_EQ(Broken([&](Image* image) { *image = before[1]; }), std::nullopt);
}

// A key that was removed and added again may have the same place in its lane, but is younger than
// the keys of other lanes. The oracle must not choose the wrong one of two such states: with a
// starvation bound they differ later.
TEST_F(OracleTest, TheAgesOfKeysInDifferentLanesDistinguishStates) {
  life_.level = Durability::kAsync;
  Do({.op = Op::kAdd, .key = "a", .lane = kFastLane});
  Do({.op = Op::kAdd, .key = "b", .lane = kSlowLane});
  const StoreImage found = OnDisk();
  Do({.op = Op::kRemove, .key = "a"});
  Do({.op = Op::kAdd, .key = "a", .lane = kFastLane});
  Oracle oracle(rules_, kStartWallUs);
  EXPECT_TRUE(oracle.Judge(life_, found).empty());
  EXPECT_EQ(oracle.survived(), 2U);
}

}  // namespace
}  // namespace wq::support
