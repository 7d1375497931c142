// Compares the queue with the model: both get the same calls, and the results and the states must
// be equal.
//
// Every 2500 calls have options of their own, drawn from a seed that follows on WQ_SEED (a failing
// run prints its own); WQ_MODEL_CALLS is how many calls.

#include <array>
#include <chrono>
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

// Options that change the semantics: any of them may meet any other.
class OptionsDraw {
 public:
  explicit OptionsDraw(std::mt19937_64* random) : random_(random) {}

  QueueOptions Next() {
    constexpr std::array<size_t, 4> kKeyBytes = {64, 64, 4096, kMaxKeyBytes};
    options_ = {.max_key_bytes = support::DrawOne(random_, kKeyBytes)};
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

// A part of the draws, so that two processes can share them.
class ModelTest : public ::testing::TestWithParam<uint64_t> {};
constexpr uint64_t kParts = 10;

TEST_P(ModelTest, RandomCallsAgreeOverCrashesAndClockJumps) {
  constexpr uint64_t kCalls = 2500;  // Of each draw.
  const uint64_t seed = support::Seed();
  const uint64_t draws = FromEnvironment("WQ_MODEL_CALLS", 500'000) / kCalls;
  std::cout << "replay with WQ_SEED=" << seed << "\n";
  Totals totals;
  for (uint64_t draw = GetParam(); draw < draws && !HasFailure(); draw += kParts) {
    SCOPED_TRACE("WQ_MODEL_CALLS=" + std::to_string(kCalls) +
                 " WQ_SEED=" + std::to_string(seed + draw));
    std::mt19937_64 random(seed + draw);
    const QueueOptions options = OptionsDraw(&random).Next();
    // Few batches are long: the model is slow.
    const size_t batch_keys = random() % 16 == 0 ? 10'000 : 50;
    CompareCalls(
        options,
        {.batch_keys = batch_keys, .reopens = true, .fewer_lanes = true, .changes_many = true},
        kCalls, &random, &totals);
  }
  std::cout << "total: " << totals.drawn << " calls compared, " << totals.crashes << " crashes, "
            << totals.reopenings << " reopenings\n";
  // A run with few hand-outs or crashes would prove little.
  EXPECT_GE(totals.handed_out, totals.drawn / 200);
  EXPECT_GE(totals.put_back, totals.drawn / 2000);
  EXPECT_GE(totals.crashes, totals.drawn / 5000);
}

INSTANTIATE_TEST_SUITE_P(Part, ModelTest, ::testing::Range<uint64_t>(0, kParts));

}  // namespace
}  // namespace wq::model
