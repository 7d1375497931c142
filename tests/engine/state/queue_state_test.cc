// What neither the scenarios nor the model reach: times and lanes at the ends of their ranges, long
// errors, many sequences, positions in the journal, and the options of orders.

#include "engine/state/queue_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/order/order.h"
#include "storage/row_rules.h"
#include "tests/engine/state/state_fixture.h"

namespace wq {
namespace {

class QueueStateTest : public ::testing::Test, public StateFixture {};

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

TEST_F(QueueStateTest, TheLongestDelayDoesNotOverflow) {
  AddAfter("a", kMaxDelay.count());
  EXPECT_EQ(Advance(1000), 0U);
  Crash();
  EXPECT_EQ(Counts(), "1 delayed");
}

TEST_F(QueueStateTest, RecoveryAcceptsAnyReadyAt) {
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

TEST_F(QueueStateTest, ACountOfFailuresStaysAtItsBound) {
  storage::MutationBatch batch;
  storage::PutFailures(kId, {.key = "at", .count = storage::kMaxFailures}, &batch);
  storage::PutFailures(kId, {.key = "above", .count = UINT64_MAX}, &batch);
  storage::PutQuarantine(kId, {.failures = {.key = "bad", .count = UINT64_MAX}}, &batch);
  ASSERT_TRUE(storage().Write(batch, false).ok());
  for (int i = 0; i < 2; ++i) {
    Crash();
    Fail("at", 0);
    Fail("above", 0);
    for (const char* const key : {"at", "above", "bad"}) {
      EXPECT_EQ(state().NumRequeues(key), storage::kMaxFailures) << key;
    }
  }
}

TEST_F(QueueStateTest, ALongErrorIsCutBetweenCharacters) {
  const std::string error(kMaxErrorBytes - 1, 'x');
  Fail("a", kSecond, error + "\xc3\xa4 and more");
  storage::FailureRecord record;
  std::string buffer;
  ASSERT_TRUE(storage::GetFailures(storage(), 7, "a", &buffer, &record).ok());
  EXPECT_EQ(record.last_error, error);
}

TEST_F(QueueStateTest, ManyRecordsOfEachKindSurviveACrashInTheirOrder) {
  const auto key = [](size_t i) { return "key-" + std::to_string(i * 7919 % 100000); };
  const size_t n = 3 * storage::kSequencesPerBlock;
  for (size_t i = 0; i < n; ++i) {
    Add(key(i));
    Fail("delayed " + key(i), static_cast<int64_t>(i + 1) * kSecond, key(i));
    Do([&](QueueState& s) { return s.Quarantine("bad " + key(i), key(i), now), 0; });
  }
  Crash();
  EXPECT_EQ(RowsThatDiffer(), 0U);
  for (size_t i = 0; i < n; ++i) {
    ASSERT_EQ(Get(), key(i)) << i;
  }
}

// Among those that wait, and among the many that are due at once; some are cancelled, and others
// added, before the last of these has fired.
TEST_F(QueueStateTest, ManyDelaysFireByTimeAndThenInTheOrderOfTheirAdds) {
  constexpr int kDelays = 20'000;
  constexpr size_t kPiece = 256;
  for (const int64_t distinct_times : {1, 100, 1'000'000}) {
    Reopen({});
    std::map<std::pair<int64_t, int>, std::string> naive;  // By due time and number.
    const auto add = [&](int64_t delay_us, int number) {
      const std::string key = "k" + std::to_string(number);
      AddAfter(key, delay_us);
      naive.emplace(std::pair(now.steady_us + delay_us, number), key);
    };
    const auto drop = [&](auto place) {
      const std::string key = place->second;
      naive.erase(place);
      return key;
    };
    for (int i = 0; i < kDelays; ++i) {
      add(1 + int64_t{i} * 7919 % distinct_times, i);
    }
    for (int piece = 0; !naive.empty() && !HasFailure(); ++piece) {
      now.steady_us += piece % 30 == 0 ? 1 + distinct_times / 2 : 0;
      const size_t fired = Do([&](QueueState& s) { return s.FireDue(now, kPiece); });
      for (size_t i = 0; i < fired; ++i) {
        const std::string key = Get();
        ASSERT_EQ(key, drop(naive.begin())) << "in piece " << piece;
        ASSERT_TRUE(Done(key));
      }
      for (int i = 0; i < 20 && piece < 60 && !naive.empty(); ++i) {
        const auto place = naive.lower_bound({now.steady_us - i % 2 * distinct_times / 4, i * 997});
        const std::string key = drop(place == naive.end() ? naive.begin() : place);
        EXPECT_TRUE(Do([&key](QueueState& s) { return s.CancelDelay(key); }));
        add(1 + i * distinct_times / 20, kDelays + piece * 20 + i);
      }
    }
    EXPECT_EQ(Counts(), "clean");
  }
}

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

TEST_F(QueueStateTest, ListedLanesHaveNoOther) {
  Reopen({.order = Order::kLanes, .lanes = {5, 5}});
  EXPECT_TRUE(state().HasLane(5));
  EXPECT_TRUE(state().HasLane(kFastLane));
  EXPECT_FALSE(state().HasLane(6));
}

TEST(CheckOrder, RefusesWhatMakesNoSense) {
  EXPECT_EQ(CheckOrder({}), nullptr);
  EXPECT_NE(CheckOrder({.order = static_cast<Order>(99)}), nullptr);
  EXPECT_NE(CheckOrder({.order = Order::kTwoLanes, .starvation_bound = 1}), nullptr);
}

}  // namespace
}  // namespace wq
