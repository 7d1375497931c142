// The oracle must find planted violations: a check that cannot fail is useless. A life of known
// calls is judged against a disk on which one fact is wrong.

#include "tests/support/oracle.h"

#include <functional>
#include <string>
#include <utility>
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

  // Whether the oracle accepts the disk of all calls after `change`.
  bool Accepts(const std::function<void(Image*)>& change) const {
    StoreImage found = OnDisk();
    change(&found[1]);
    return Oracle(rules_, kStartWallUs).Judge(life_, found).empty();
  }

  const std::vector<QueueRules> rules_ = AllPolicies();
  NaiveStore model_{rules_, kStartWallUs};
  Life life_;
};

const auto kNothing = [](Image*) {};

const auto kDropLast = [](Image* image) { image->pending.pop_back(); };
const auto kDropAll = [](Image* image) { image->pending.clear(); };

TEST_F(OracleTest, AnAcknowledgedCallMustBeThereAndAnotherMayBe) {
  Do({.op = Op::kAdd, .key = "a"});
  EXPECT_TRUE(Accepts(kNothing));
  EXPECT_FALSE(Accepts(kDropAll));
  Do({.op = Op::kAdd, .key = "b"}, false);
  EXPECT_TRUE(Accepts(kNothing));
  EXPECT_TRUE(Accepts(kDropLast));
}

TEST_F(OracleTest, AKillMayTakeWhatWasAcknowledgedAtAsync) {
  life_.level = Durability::kAsync;
  Do({.op = Op::kAdd, .key = "a"});
  Do({.op = Op::kAdd, .key = "b"});
  EXPECT_TRUE(Accepts(kDropLast));
  // But a call in the middle must not be lost.
  EXPECT_FALSE(Accepts([](Image* image) { image->pending.erase(image->pending.begin()); }));
}

TEST_F(OracleTest, APowerCutTakesNothingThatWasAcknowledgedAtPower) {
  life_.crash = CrashKind::kPowerCut;
  Do({.op = Op::kAdd, .key = "a"});
  EXPECT_TRUE(Accepts(kDropAll));
  Do({.op = Op::kAdd, .key = "b", .durability = Durability::kPower});
  Do({.op = Op::kAdd, .key = "c"});
  EXPECT_TRUE(Accepts(kDropLast));
  EXPECT_FALSE(Accepts([](Image* image) { image->pending.resize(1); }));
  Do({.op = Op::kFlush, .durability = Durability::kPower});
  EXPECT_FALSE(Accepts(kDropLast));
}

TEST_F(OracleTest, HalfACallIsNone) {
  Do({.op = Op::kAddRateLimited, .key = "a", .delay_us = kSecond}, false);
  EXPECT_FALSE(Accepts([](Image* image) { image->failing.clear(); }));
  EXPECT_TRUE(Accepts([](Image* image) { *image = {}; }));
}

TEST_F(OracleTest, EachFactIsCompared) {
  Do({.op = Op::kAdd, .key = "a"});
  Do({.op = Op::kGet});
  Do({.op = Op::kDone, .key = "a"});
  for (const char* key : {"b", "c"}) Do({.op = Op::kAdd, .key = key});
  Do({.op = Op::kGet});
  Do({.op = Op::kAddRateLimited, .key = "d", .delay_us = kSecond});
  Do({.op = Op::kSetCursor, .key = "7"});
  EXPECT_TRUE(Accepts(kNothing));
  const std::function<void(Image*)> changes[] = {
      kDropAll,  // One of them was held.
      [](Image* image) {
        image->pending.insert(image->pending.begin(), {.key = "a", .lane = 0, .group = ""});
      },
      [](Image* image) { std::swap(image->pending[0], image->pending[1]); },
      [](Image* image) { image->pending[1].lane = kSlowLane; },
      [](Image* image) { image->delayed[0].ready_at_us -= 1; },
      [](Image* image) { image->delayed.clear(); },
      [](Image* image) { image->failing["d"] = 2; },
      [](Image* image) { image->limiter_state = "0"; },
      [](Image* image) { image->cursors["c"] = "8"; },
      [](Image* image) { image->fingerprint = 1; },  // The rows of the next life would have it.
  };
  for (const auto& change : changes) {
    EXPECT_FALSE(Accepts(change)) << "change " << &change - changes;
  }
}

TEST_F(OracleTest, WhatWasAddedBeforeACursorIsThereWithIt) {
  Do({.op = Op::kAdd, .key = "a"}, false);
  Do({.op = Op::kSetCursor, .key = "7"}, false);
  EXPECT_FALSE(Accepts(kDropAll));
}

// The rows of the next life have its fingerprint, or not.
TEST_F(OracleTest, AListThatWasNotAcknowledgedIsBegunOrNot) {
  const auto observe = [this](const char* version) {
    Do({.op = Op::kObserve, .key = "o", .version = version, .observed = {"o"}});
  };
  Oracle oracle(rules_, kStartWallUs);
  observe("v0");
  const StoreImage before = OnDisk();
  life_.calls.push_back({.queue = 1, .call = {.op = Op::kBeginList, .version = "f1"}});
  EXPECT_EQ(oracle.Judge(life_, before), "");
  life_ = {};
  observe("v1");
  EXPECT_EQ(oracle.Judge(life_, OnDisk()), "");
}

TEST_F(OracleTest, ACrashInRecoveryChangesNothing) {
  Oracle oracle(rules_, kStartWallUs);
  Do({.op = Op::kAdd, .key = "a"});
  StoreImage found = OnDisk();
  EXPECT_EQ(oracle.Judge(life_, found), "");
  EXPECT_EQ(oracle.Judge({}, found), "");
  found[1] = {};
  EXPECT_NE(oracle.Judge({}, found), "");
}

TEST_F(OracleTest, AResultThatTheModelDoesNotHaveIsFound) {
  Do({.op = Op::kAdd, .key = "a"});
  Do({.op = Op::kGet});
  Do({.op = Op::kGet});
  EXPECT_TRUE(Accepts(kNothing));
  life_.results.back() = "a";
  EXPECT_FALSE(Accepts(kNothing));
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
  EXPECT_TRUE(Accepts([&](Image* image) { *image = before[1]; }));
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
  EXPECT_EQ(oracle.Judge(life_, found), "");
  EXPECT_EQ(oracle.survived(), 2U);
}

}  // namespace
}  // namespace wq::support
