// Compares the queue with the model: both get the same calls, and the results and the states must
// be equal.
//
// WQ_SEED picks the seed (a failing run prints its own), WQ_MODEL_CALLS how many calls.

#include <array>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/call.h"
#include "tests/model/call_source.h"
#include "tests/model/naive_queue.h"
#include "tests/model/real_queue.h"
#include "tests/model/state_queue.h"
#include "tests/support/draw.h"
#include "tests/support/environment.h"

namespace wq::model {
namespace {

constexpr int64_t kSecond = 1'000'000;

using namespace std::chrono_literals;
using support::FromEnvironment;

// The options that change the semantics: every order policy, and others.
struct Rules {
  const char* name;
  QueueOptions options;
};

void PrintTo(const Rules& rules, std::ostream* out) { *out << rules.name; }

std::vector<Rules> AllRules() {
  return {
      {"Fifo", {}},
      {"TwoLanes", {.order = Order::kTwoLanes}},
      {"TwoLanesBounded", {.order = Order::kTwoLanes, .starvation_bound = 3}},
      {"Lanes", {.order = Order::kLanes, .lanes = {2, 1, -1, -2}, .max_requeues = 2}},
      {"Priorities", {.order = Order::kPriorities, .re_add = ReAdd::kRaisesLane}},
      {"PrioritiesBounded",
       {.order = Order::kPriorities,
        .starvation_bound = 2,
        .max_requeues = 1,
        .quarantined_add = QuarantinedAdd::kRelease}},
      {"MergeDelays", {.order = Order::kTwoLanes, .max_requeues = 3, .merge_delays = true}},
      {"PrioritiesMergeDelays",
       {.order = Order::kPriorities, .re_add = ReAdd::kRaisesLane, .merge_delays = true}},
      {"Fair", {.order = Order::kFair, .max_requeues = 3}},
      {"Shards", {.order = Order::kTwoLanes, .shards = 3}},
      {"FairShards",
       {.order = Order::kFair,
        .shards = 2,
        .max_requeues = 2,
        .quarantined_add = QuarantinedAdd::kRelease}},
      {"Debounce", {.order = Order::kTwoLanes, .max_requeues = 2, .debounce = {1s, 3s}}},
      {"DebounceMergeDelays",
       {.order = Order::kPriorities,
        .re_add = ReAdd::kRaisesLane,
        .quarantined_add = QuarantinedAdd::kRelease,
        .debounce = {2s, 3s},
        .merge_delays = true}},
      {"Full",
       {.order = Order::kTwoLanes,
        .max_requeues = 1,
        .quarantined_add = QuarantinedAdd::kRelease,
        .max_pending = 4,
        .when_full = WhenFull::kRefuse}},
      {"Limits",
       {.order = Order::kTwoLanes,
        .group_limits = {.max_processing = 1},
        .limits = {.max_processing = 4}}},
      {"LimitsByRate",
       {.order = Order::kPriorities,
        .starvation_bound = 3,
        .group_limits = {.rate = {.per_second = 1, .burst = 2}},
        .limits = {.rate = {.per_second = 1, .burst = 4}}}},
      {"LimitsSetLater", {.order = Order::kTwoLanes, .limits = {.rate = {.burst = 2}}}},
      {"FairLanesLimits",
       {.order = Order::kFair, .lanes = {2, 1, -1, -2}, .group_limits = {.max_processing = 2}}},
      {"FairShardsLimits",
       {.order = Order::kFair,
        .group_limits = {.rate = {.per_second = 1}},
        .shards = 2,
        .merge_delays = true}},
      {"Resync", {.order = Order::kTwoLanes, .max_requeues = 2, .resync = {4s, 0.25}}},
      {"ResyncDebounceMergeDelays",
       {.order = Order::kPriorities,
        .re_add = ReAdd::kRaisesLane,
        .debounce = {1s, 2s},
        .resync = {2s, 0.5},
        .merge_delays = true}},
      {"StuckShards", {.order = Order::kTwoLanes, .shards = 2, .stuck_after = 2s}},
  };
}

template <typename Real>
Real MakeReal(const QueueOptions& options) {
  if constexpr (std::is_same_v<Real, StateQueue>) {
    return StateQueue(options, kStartWallUs);
  } else {
    return Real(options);
  }
}

class ModelTest : public ::testing::TestWithParam<Rules> {};

TEST_P(ModelTest, RandomCallsAgreeOverCrashesAndClockJumps) {
  const uint64_t seed = support::Seed();
  const uint64_t calls = FromEnvironment("WQ_MODEL_CALLS", 500'000) / AllRules().size();
  RecordProperty("seed", std::to_string(seed));
  std::cout << "replay with WQ_SEED=" << seed << "\n";

  std::mt19937_64 random(seed);
  QueueOptions options = GetParam().options;
  options.max_key_bytes =
      support::DrawOne(&random, std::array<size_t, 4>{64, 4096, 4096, kMaxKeyBytes});
  const support::Buffers buffers = support::Buffers::Draw(&random);
  CallSource source(options, random(),
                    {.reopens = true, .fewer_lanes = true, .changes_many = true});
  NaiveQueue model(options, kStartWallUs);
  MapQueue queue(options, buffers);
  std::deque<std::string> recent;
  const auto history = [&] {
    std::string text;
    for (const std::string& call : recent) {
      text += call + "\n";
    }
    return text + source.ToString() + "; " + buffers.ToString();
  };
  uint64_t crashes = 0;
  uint64_t reopenings = 0;
  uint64_t handed_out = 0;
  uint64_t put_back = 0;
  uint64_t drawn = 0;
  for (uint64_t i = 0; i < calls; ++i, ++drawn) {
    const Call call = source.Next();
    const std::string expected = model.Do(call);
    recent.push_back(call.ToString() + " -> " + support::Packed(expected));
    if (recent.size() > 40) {
      recent.pop_front();
    }
    ASSERT_EQ(support::Packed(queue.Do(call)), support::Packed(expected))
        << "call " << i << " of seed " << seed << "\n"
        << history();
    if (call.op == Op::kCrash || i % 97 == 0) {
      ASSERT_EQ(support::Packed(queue.Dump()), support::Packed(model.Dump()))
          << "call " << i << " of seed " << seed << "\n"
          << history();
    }
    i += call.keys.size() - (call.keys.empty() ? 0 : 1);  // Each Add of a batch counts.
    reopenings += call.op == Op::kReopen || call.op == Op::kDeleteQueue ? 1 : 0;
    crashes += call.op == Op::kCrash ? 1 : 0;
    handed_out += call.op == Op::kGet && expected != "none" ? 1 : 0;
    put_back += call.op == Op::kPutBack && expected == "ok" ? 1 : 0;
  }
  EXPECT_EQ(queue.Dump(), model.Dump());
  std::cout << "total: " << calls << " calls compared, " << crashes << " crashes, " << reopenings
            << " reopenings\n";
  // A run with few hand-outs or crashes would prove little.
  EXPECT_GE(handed_out, drawn / 200);
  EXPECT_GE(put_back, drawn / 2000);
  EXPECT_GE(crashes, drawn / 5000);
}

INSTANTIATE_TEST_SUITE_P(Rules, ModelTest, ::testing::ValuesIn(AllRules()),
                         [](const auto& info) { return std::string(info.param.name); });

// Tries every sequence of `length` calls from the alphabet, and a crash after it.
template <typename Real>
void TryAllStrings(const QueueOptions& options, const std::vector<Call>& alphabet,
                   uint64_t length) {
  const Call crash{.op = Op::kCrash};
  uint64_t strings = 1;
  for (uint64_t i = 0; i < length; ++i) {
    strings *= alphabet.size();
  }
  for (uint64_t string = 0; string < strings; ++string) {
    NaiveQueue model(options, kStartWallUs);
    Real queue = MakeReal<Real>(options);
    const auto calls = [&](uint64_t count) {
      std::string text;
      for (uint64_t i = 0, rest = string; i < count; ++i, rest /= alphabet.size()) {
        text += alphabet[rest % alphabet.size()].ToString() + " ";
      }
      return text;
    };
    uint64_t rest = string;
    for (uint64_t i = 0; i < length; ++i, rest /= alphabet.size()) {
      const Call& call = alphabet[rest % alphabet.size()];
      ASSERT_EQ(queue.Do(call), model.Do(call)) << calls(i + 1);
    }
    ASSERT_EQ(queue.Dump(), model.Dump()) << calls(length);
    ASSERT_EQ(queue.Do(crash), model.Do(crash));
    ASSERT_EQ(queue.Dump(), model.Dump()) << calls(length) << "and a crash";
  }
}

// Every shorter sequence is the beginning of one of these.
TEST(Model, EveryStringOfCallsOverTwoKeysAgrees) {
  TryAllStrings<StateQueue>(
      {.order = Order::kTwoLanes},
      {
          {.op = Op::kAdd, .key = "a"},
          {.op = Op::kAdd, .key = "b", .lane = kSlowLane},
          {.op = Op::kAdd, .key = "b", .lane = kFastLane},
          {.op = Op::kGet},
          {.op = Op::kDone, .key = "a"},
          {.op = Op::kDone, .key = "b"},
          {.op = Op::kPutBack, .key = "a"},
          {.op = Op::kPutBackDead, .key = "a", .delay_us = kSecond},
          {.op = Op::kAddAfter, .key = "a", .lane = kSlowLane, .delay_us = kSecond},
          {.op = Op::kAddRateLimited, .key = "b", .delay_us = kSecond},
          {.op = Op::kAdvance, .delay_us = kSecond},
          {.op = Op::kCrash},
      },
      FromEnvironment("WQ_MODEL_LENGTH", 4));
}

TEST(Model, EveryStringOfCallsWithMergedDelaysAndRaisedLanesAgrees) {
  TryAllStrings<StateQueue>(
      {.order = Order::kPriorities, .re_add = ReAdd::kRaisesLane, .merge_delays = true},
      {
          {.op = Op::kAdd, .key = "a"},
          {.op = Op::kAdd, .key = "a", .lane = 2},
          {.op = Op::kAdd, .key = "b", .lane = 1},
          {.op = Op::kGet},
          {.op = Op::kDone, .key = "a"},
          {.op = Op::kPutBack, .key = "a"},
          {.op = Op::kAddAfter, .key = "a", .lane = 3, .delay_us = 2 * kSecond},
          {.op = Op::kAddAfter, .key = "a", .lane = 1, .delay_us = kSecond},
          {.op = Op::kAddAfter, .key = "b", .delay_us = kSecond},
          {.op = Op::kAddRateLimited, .key = "a", .delay_us = 0},
          {.op = Op::kAdvance, .delay_us = kSecond},
          {.op = Op::kCrash},
      },
      FromEnvironment("WQ_MODEL_LENGTH", 4));
}

// So often that several are due in one round.
TEST(Model, EveryStringOfCallsWithResyncsAgrees) {
  constexpr int64_t kMs = 1000;
  TryAllStrings<StateQueue>(
      {.order = Order::kTwoLanes, .merge_delays = true},
      {
          {.op = Op::kAddAfter, .key = "a", .delay_us = kMs, .mode = DelayMode::kResync},
          {.op = Op::kAddAfter, .key = "b", .delay_us = kMs, .mode = DelayMode::kResync},
          {.op = Op::kAddAfter, .key = "b", .delay_us = 10 * kMs},
          {.op = Op::kAdd, .key = "a"},
          {.op = Op::kGet},
          {.op = Op::kDone, .key = "a"},
          {.op = Op::kPutBack, .key = "a"},
          {.op = Op::kAdvance, .delay_us = 10 * kMs},
          {.op = Op::kCrash},
      },
      FromEnvironment("WQ_MODEL_LENGTH", 4));
}

// The whole queue has threads and is slower, so the sequences are shorter; the alphabet is larger.
TEST(Model, EveryStringOfThreeCallsAgreesThroughTheWholeQueue) {
  TryAllStrings<MapQueue>(
      {.order = Order::kTwoLanes},
      {
          {.op = Op::kAdd, .key = "a"},
          {.op = Op::kAdd, .key = "b", .lane = kSlowLane},
          {.op = Op::kAdd, .key = "b", .lane = kFastLane},
          {.op = Op::kAdd, .key = "a", .durability = Durability::kAsync},
          {.op = Op::kAdd, .key = "b", .lane = kFastLane, .durability = Durability::kAsync},
          {.op = Op::kGet},
          {.op = Op::kDone, .key = "a"},
          {.op = Op::kDone, .key = "b"},
          {.op = Op::kPutBack, .key = "a"},
          {.op = Op::kPutBack, .key = "b"},
          {.op = Op::kAddAfter, .key = "a", .delay_us = 2 * kSecond},
          {.op = Op::kAddAfter, .key = "b", .lane = kSlowLane, .delay_us = kSecond},
          {.op = Op::kAddRateLimited, .key = "a", .delay_us = kSecond},
          {.op = Op::kAddRateLimited, .key = "b", .delay_us = 0},
          {.op = Op::kForget, .key = "a"},
          {.op = Op::kRemove, .key = "a"},
          {.op = Op::kQuarantine, .key = "b"},
          {.op = Op::kRelease, .key = "b"},
          {.op = Op::kPause, .delay_us = kSecond},
          {.op = Op::kAdvance, .delay_us = kSecond},
          {.op = Op::kCrash},
      },
      3);
}

}  // namespace
}  // namespace wq::model
