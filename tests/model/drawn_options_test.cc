// As ModelTest, with options that are drawn: any of them may meet any other.
//
// WQ_SEED picks the seed of the first draw, WQ_MODEL_DRAWS how many follow on it.

#include <chrono>
#include <cstdint>
#include <deque>
#include <iostream>
#include <random>
#include <string>

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

// What all draws have done.
struct Totals {
  uint64_t calls = 0;
  uint64_t crashes = 0;
};

void CompareCalls(uint64_t seed, Totals* totals) {
  constexpr uint64_t kCalls = 2500;
  std::mt19937_64 random(seed);
  const QueueOptions options = OptionsDraw(&random).Next();
  CallSource source(options, random(), {.batch_keys = 50, .reopens = true});
  NaiveQueue model(options, kStartWallUs);
  MapQueue queue(options, support::Buffers::Draw(&random));
  std::deque<std::string> recent;
  const auto history = [&] {
    std::string text = "WQ_MODEL_DRAWS=1 WQ_SEED=" + std::to_string(seed) + "\n";
    for (const std::string& call : recent) {
      text += call + "\n";
    }
    return text;
  };
  for (uint64_t i = 0; i < kCalls; ++i) {
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
    totals->calls += 1;
    totals->crashes += call.op == Op::kCrash ? 1 : 0;
  }
}

TEST(DrawnOptions, AnyOptionsTogetherAgreeWithTheModel) {
  const uint64_t seed = support::Seed();
  const uint64_t draws = FromEnvironment("WQ_MODEL_DRAWS", 40);
  std::cout << "replay with WQ_SEED=" << seed << "\n";
  Totals totals;
  for (uint64_t draw = 0; draw < draws && !testing::Test::HasFailure(); ++draw) {
    CompareCalls(seed + draw, &totals);
  }
  std::cout << "total: " << totals.calls << " calls compared, " << totals.crashes << " crashes, "
            << draws << " draws\n";
}

}  // namespace
}  // namespace wq::model
