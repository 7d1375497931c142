// Compares the queue with the model: both get the same calls, and the results and the states must
// be equal.
//
// WQ_SEED picks the seed (a failing run prints its own), WQ_MODEL_CALLS how many calls,
// WQ_MODEL_DRAWS for how many draws of options, the seeds of which follow on it.

#include <array>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/call.h"
#include "tests/model/call_source.h"
#include "tests/model/naive_queue.h"
#include "tests/model/real_queue.h"
#include "tests/support/draw.h"
#include "tests/support/environment.h"

namespace wq::model {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using support::FromEnvironment;
using support::Packed;

// What the compared calls have done.
struct Totals {
  uint64_t drawn = 0;
  uint64_t crashes = 0;
  uint64_t reopenings = 0;
  uint64_t handed_out = 0;
  uint64_t put_back = 0;
};

// Makes `calls` calls on both. Each Add of a batch counts.
void CompareCalls(const QueueOptions& options, const CallSource::Bounds& bounds, uint64_t calls,
                  std::mt19937_64* random, Totals* totals) {
  CallSource source(options, (*random)(), bounds);
  const support::Buffers buffers = support::Buffers::Draw(random);
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
  for (uint64_t i = 0; i < calls; ++i, ++totals->drawn) {
    const Call call = source.Next();
    const std::string expected = model.Do(call);
    recent.push_back(call.ToString() + " -> " + Packed(expected));
    if (recent.size() > 40) {
      recent.pop_front();
    }
    ASSERT_EQ(Packed(queue.Do(call)), Packed(expected)) << "call " << i << "\n" << history();
    if (call.op == Op::kCrash || i % 97 == 0) {
      ASSERT_EQ(Packed(queue.Dump()), Packed(model.Dump())) << "call " << i << "\n" << history();
    }
    i += call.keys.size() - (call.keys.empty() ? 0 : 1);
    totals->reopenings += call.op == Op::kReopen || call.op == Op::kDeleteQueue ? 1 : 0;
    totals->crashes += call.op == Op::kCrash ? 1 : 0;
    totals->handed_out += call.op == Op::kGet && expected != "none" ? 1 : 0;
    totals->put_back += call.op == Op::kPutBack && expected == "ok" ? 1 : 0;
  }
  EXPECT_EQ(queue.Dump(), model.Dump());
}

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

class ModelTest : public ::testing::TestWithParam<Rules> {};

TEST_P(ModelTest, RandomCallsAgreeOverCrashesAndClockJumps) {
  const uint64_t seed = support::Seed();
  const uint64_t calls = FromEnvironment("WQ_MODEL_CALLS", 500'000) / AllRules().size();
  std::cout << "replay with WQ_SEED=" << seed << "\n";
  std::mt19937_64 random(seed);
  QueueOptions options = GetParam().options;
  options.max_key_bytes =
      support::DrawOne(&random, std::array<size_t, 4>{64, 4096, 4096, kMaxKeyBytes});
  Totals totals;
  CompareCalls(options, {.reopens = true, .fewer_lanes = true, .changes_many = true}, calls,
               &random, &totals);
  std::cout << "total: " << calls << " calls compared, " << totals.crashes << " crashes, "
            << totals.reopenings << " reopenings\n";
  // A run with few hand-outs or crashes would prove little.
  EXPECT_GE(totals.handed_out, totals.drawn / 200);
  EXPECT_GE(totals.put_back, totals.drawn / 2000);
  EXPECT_GE(totals.crashes, totals.drawn / 5000);
}

INSTANTIATE_TEST_SUITE_P(Rules, ModelTest, ::testing::ValuesIn(AllRules()),
                         [](const auto& info) { return std::string(info.param.name); });

// --- Options that are drawn: any of them may meet any other ---

class OptionsDraw {
 public:
  explicit OptionsDraw(std::mt19937_64* random) : random_(random) {}

  QueueOptions Next() {
    options_ = {.max_key_bytes = 64};
    Order();
    Limits();
    Failures();
    Times();
    options_.shards = OneIn(3) ? 1 + static_cast<uint32_t>(Below(3)) : 0;
    if (OneIn(4)) {
      options_.max_pending = 1 + Below(6);
      options_.when_full = WhenFull::kRefuse;
    }
    return options_;
  }

 private:
  uint64_t Below(uint64_t n) { return (*random_)() % n; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  milliseconds Time(uint64_t most_ms) { return milliseconds(1 + Below(most_ms)); }

  void Order() {
    options_.order = static_cast<wq::Order>(Below(5));
    if (options_.order == Order::kLanes || (options_.order == Order::kFair && OneIn(2))) {
      options_.lanes = OneIn(2) ? std::vector<Lane>{2, 1, -1, -2} : std::vector<Lane>{1, kSlowLane};
    }
    options_.re_add = static_cast<ReAdd>(Below(2));
    options_.starvation_bound = OneIn(4) ? 2 + static_cast<uint32_t>(Below(3)) : 0;
  }
  GroupLimits SomeLimits(uint64_t most) {
    GroupLimits limits;
    limits.max_processing = OneIn(2) ? 1 + static_cast<uint32_t>(Below(most)) : 0;
    limits.rate = {.per_second = OneIn(2) ? 1.0 : 0, .burst = 1 + static_cast<uint32_t>(Below(4))};
    return limits;
  }
  void Limits() {
    options_.group_limits = OneIn(3) ? SomeLimits(2) : GroupLimits();
    options_.limits = OneIn(4) ? SomeLimits(4) : GroupLimits();
  }
  void Failures() {
    options_.max_requeues = OneIn(2) ? 1 + Below(3) : 0;
    options_.quarantined_add = static_cast<QuarantinedAdd>(Below(2));
  }
  void Times() {
    if (OneIn(3)) {
      options_.debounce.quiet = Time(2000);
      options_.debounce.max_wait = options_.debounce.quiet + milliseconds(Below(3000));
    }
    if (OneIn(3)) {
      options_.resync = {.period = Time(4000), .jitter = static_cast<double>(Below(3)) / 4};
    }
    options_.merge_delays = OneIn(3);
    options_.stuck_after = OneIn(4) ? Time(3000) : milliseconds(0);
  }

  std::mt19937_64* const random_;
  QueueOptions options_;
};

TEST(DrawnOptions, AnyOptionsTogetherAgreeWithTheModel) {
  const uint64_t seed = support::Seed();
  const uint64_t draws = FromEnvironment("WQ_MODEL_DRAWS", 40);
  std::cout << "replay with WQ_SEED=" << seed << "\n";
  Totals totals;
  for (uint64_t draw = 0; draw < draws && !testing::Test::HasFailure(); ++draw) {
    SCOPED_TRACE("WQ_MODEL_DRAWS=1 WQ_SEED=" + std::to_string(seed + draw));
    std::mt19937_64 random(seed + draw);
    const QueueOptions options = OptionsDraw(&random).Next();
    CompareCalls(options, {.batch_keys = 50, .reopens = true}, 2500, &random, &totals);
  }
  std::cout << "total: " << totals.drawn << " calls compared, " << totals.crashes << " crashes, "
            << draws << " draws\n";
}

}  // namespace
}  // namespace wq::model
