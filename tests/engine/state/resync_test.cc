// Resyncs: QueueOptions::resync, DelayMode::kResync, and the ResyncGate.

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/state/state_fixture.h"

namespace wq {
namespace {

using namespace std::chrono_literals;

constexpr int64_t kHour = 3600 * kSecond;

class ResyncTest : public ::testing::Test, public StateFixture {
 protected:
  ResyncTest() : StateFixture({.order = Order::kTwoLanes, .resync = {1h, 0}}) {}

  // A worker reconciles the next key.
  std::string Reconcile() {
    const std::string key = Get();
    EXPECT_TRUE(DoneNow(key));
    return key;
  }
  bool DoneNow(std::string_view key) {
    return Do([&](QueueState& s) { return s.Done(key, now); });
  }
  AddOutcome ResyncIn(std::string_view key, int64_t delay_us) {
    return Do([&](QueueState& s) {
             return s.AddAfter(key, delay_us, {.delay_mode = DelayMode::kResync}, now);
           })
        .outcome;
  }
};

TEST_F(ResyncTest, AKeyIsAddedToTheSlowLaneAPeriodAfterItsDone) {
  Add("a");
  Reconcile();
  EXPECT_EQ(Disk(), "delayed:slow:a@3600s");
  EXPECT_EQ(state().Counts().resyncs, 1u);
  EXPECT_EQ(Advance(kHour - 1), 0u);
  EXPECT_EQ(Advance(1), 1u);
  EXPECT_EQ(Disk(), "slow:a");
  Reconcile();
  EXPECT_EQ(Disk(), "delayed:slow:a@3600s");
}

TEST_F(ResyncTest, TheJitterLengthensNoPeriodBeyondTheLongestDelay) {
  Reopen({.resync = {kMaxDelay, 1}});
  for (int i = 0; i < 20; ++i) {
    const std::string n = std::to_string(i);
    Add("key " + n);
    Reconcile();
    ResyncIn("own " + n, kMaxDelay.count());
    EXPECT_LE(state().Find("key " + n)->delay->delay_us, kMaxDelay.count());
    EXPECT_LE(state().Find("own " + n)->delay->delay_us, kMaxDelay.count());
  }
  Crash();
  EXPECT_EQ(state().Counts().resyncs, 40u);
}

TEST_F(ResyncTest, APeriodThatAnOlderVersionMadeTooLongIsCutAtTheOpening) {
  storage::MutationBatch batch;
  storage::PutDelayed(kId,
                      {.key = "a",
                       .ready_at_us = now.wall_us + 2 * kMaxDelay.count(),
                       .delay_us = 2 * kMaxDelay.count(),
                       .added_at_us = now.wall_us,
                       .resync = true},
                      &batch);
  ASSERT_TRUE(storage().Write(batch, false).ok());
  Crash();
  ASSERT_EQ(state().Counts().resyncs, 1u);
  EXPECT_EQ(state().Find("a")->delay->delay_us, kMaxDelay.count());
  EXPECT_EQ(state().Find("a")->delay->due_us, now.steady_us + kMaxDelay.count());
}

TEST_F(ResyncTest, AKeyThatIsReconciledMeanwhileIsPutOff) {
  Add("a");
  Reconcile();
  Advance(kHour / 2);
  EXPECT_EQ(Add("a"), AddOutcome::kAdded);
  EXPECT_EQ(Disk(), "a delayed:slow:a@1800s") << "the Add has the fast lane";
  Reconcile();
  EXPECT_EQ(Disk(), "delayed:slow:a@3600s");
}

TEST_F(ResyncTest, ADoneThatGainsLessThanATenthWritesNoDelay) {
  Add("a");
  Reconcile();
  Advance(kHour / 10);
  Add("a");
  Reconcile();
  EXPECT_EQ(Disk(), "delayed:slow:a@3240s");
  Advance(1);
  Add("a");
  Reconcile();
  EXPECT_EQ(Disk(), "delayed:slow:a@3600s");
}

TEST_F(ResyncTest, AResyncIsKeptOverACrash) {
  Add("a", kFastLane, "g");
  Reconcile();
  Advance(kHour / 2);
  Crash();
  EXPECT_EQ(Disk(), "delayed:slow:a@1800s");
  EXPECT_EQ(state().Counts().resyncs, 1u);
  EXPECT_EQ(state().Find("a")->group_name(), "g");
  EXPECT_EQ(Advance(kHour / 2), 1u);
  EXPECT_EQ(Get(), "a");
  Crash();  // The worker has died: the key is handed out again, and resynced after that.
  EXPECT_EQ(Reconcile(), "a");
  EXPECT_EQ(Disk(), "delayed:slow:a@3600s");
}

TEST_F(ResyncTest, AKeyThatIsDeletedWhileItIsHeldIsNotResynced) {
  Add("a");
  Get();
  Do([](QueueState& s) { return s.Delete("a"); });
  DoneNow("a");
  EXPECT_EQ(Disk(), "");
  Add("a");
  Reconcile();
  EXPECT_EQ(Disk(), "delayed:slow:a@3600s") << "the object is there again";
  Add("a");
  Get();
  Do([](QueueState& s) { return s.Delete("a"); });
  Add("a");
  DoneNow("a");
  Reconcile();
  EXPECT_EQ(Disk(), "delayed:slow:a@3600s") << "it was added after the Delete";
}

TEST_F(ResyncTest, CancelDelayEndsAResyncAndEndDelayFiresIt) {
  Add("a");
  Reconcile();
  EXPECT_TRUE(Do([](QueueState& s) { return s.CancelDelay("a"); }));
  EXPECT_EQ(Disk(), "");
  Add("a");
  Reconcile();
  EXPECT_TRUE(Do([this](QueueState& s) { return s.EndDelay("a", now); }));
  EXPECT_EQ(Disk(), "slow:a");
  EXPECT_EQ(state().Counts().resyncs, 0u);
}

TEST_F(ResyncTest, AnyOtherDelayReplacesAResyncAndIsKeptByDone) {
  Add("a");
  Reconcile();
  EXPECT_EQ(AddAfter("a", 5 * kHour), AddOutcome::kAdded);
  EXPECT_EQ(Disk(), "delayed:a@18000s");
  Add("a");
  Reconcile();
  EXPECT_EQ(Disk(), "delayed:a@18000s");
  EXPECT_EQ(ResyncIn("a", kSecond), AddOutcome::kDeduplicated);
  EXPECT_EQ(Disk(), "delayed:a@18000s");
  Add("b");
  Get();
  Fail("b", 7 * kSecond);
  DoneNow("b");
  EXPECT_EQ(Disk(), "delayed:b@7s delayed:a@18000s failing:b=1");
}

TEST_F(ResyncTest, ADebouncedAddReplacesAResync) {
  Add("a");
  Reconcile();
  const auto gather = [this] {
    return Do([this](QueueState& s) { return s.AddDebounced("a", {5s, 20s}, {}, now); }).outcome;
  };
  EXPECT_EQ(gather(), AddOutcome::kAdded);
  EXPECT_EQ(Disk(), "delayed:a@5s");
  EXPECT_EQ(gather(), AddOutcome::kDeduplicated);
}

TEST_F(ResyncTest, AQuarantinedKeyIsNotResynced) {
  Add("a");
  Get();
  Do([this](QueueState& s) {
    s.Quarantine("a", "broken", now);
    return 0;
  });
  DoneNow("a");
  EXPECT_EQ(Disk(), "quarantined:a=0");
}

TEST_F(ResyncTest, AResyncThatIsDueWhileTheKeyIsHeldIsPutOff) {
  Add("a");
  Reconcile();
  Add("a");
  Get();
  EXPECT_EQ(Advance(kHour), 1u);
  EXPECT_EQ(Disk(), "a delayed:slow:a@3600s");
  EXPECT_FALSE(state().AddedAgain("a"));
}

TEST_F(ResyncTest, AKeyCanHaveAPeriodOfItsOwn) {
  Reopen({.resync = {0s, 0}});
  Add("a");
  Get();
  EXPECT_EQ(ResyncIn("a", 60 * kSecond), AddOutcome::kAdded);
  Advance(30 * kSecond);
  DoneNow("a");
  EXPECT_EQ(Disk(), "delayed:a@60s") << "put off by its own period; there is no slow lane";
  EXPECT_EQ(ResyncIn("a", 20 * kSecond), AddOutcome::kAdded);
  EXPECT_EQ(Disk(), "delayed:a@20s");
  EXPECT_EQ(Advance(20 * kSecond), 1u);
  Reconcile();
  EXPECT_EQ(Disk(), "") << "the queue has no period";
}

TEST_F(ResyncTest, ALongPeriodDoesNotHoldUpAShortOne) {
  Add("rare");
  Reconcile();
  Advance(kHour);  // The gate owes for it: an hour's worth.
  ResyncIn("often", kSecond);
  EXPECT_EQ(Advance(2 * kSecond), 1u);
  EXPECT_EQ(GetMany(2), "rareoften");
}

TEST_F(ResyncTest, JitterSpreadsThePeriodsEvenlyAndAlwaysTheSame) {
  Reopen({.resync = {1h, 0.25}});
  double sum = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::string key = "k" + std::to_string(i);
    Add(key);
    Reconcile();
    const int64_t first_us = state().Find(key)->delay->delay_us;
    EXPECT_GE(first_us, kHour * 3 / 4);
    EXPECT_LE(first_us, kHour * 5 / 4);
    sum += static_cast<double>(first_us) / 1000;
    Do([&](QueueState& s) { return s.CancelDelay(key); });
    Add(key);
    Reconcile();
    EXPECT_EQ(state().Find(key)->delay->delay_us, first_us);
  }
  EXPECT_NEAR(sum / kHour, 1, 0.02);
}

// --- Simulations ---

// Workers take a second for each key. A step is a tick.
class ResyncSimulation : public ResyncTest {
 protected:
  static constexpr int kKeys = 10'000;
  static constexpr int64_t kStepUs = ResyncGate::kTickUs;
  static constexpr int64_t kPeriodUs = 100 * kSecond;

  void AddAll() {
    Reopen({.order = Order::kTwoLanes, .resync = {100s, 0.1}});
    for (int i = 0; i < kKeys; ++i) {
      Add("k" + std::to_string(i));
      last_us_["k" + std::to_string(i)] = now.steady_us;
    }
    for (int i = 0; i < kKeys; ++i) {
      Reconcile();
    }
  }

  // The largest number of resyncs in any second.
  size_t Run(int periods) {
    size_t most = 0;
    const int64_t end_us = now.steady_us + periods * kPeriodUs;
    while (now.steady_us < end_us) {
      Advance(kStepUs);
      size_t fired = 0;
      for (std::string key = Get(); !key.empty(); key = Get()) {
        ++fired;
        longest_us_ = std::max(longest_us_, now.steady_us - last_us_.at(key));
        last_us_[key] = now.steady_us;
        held_.emplace_back(now.steady_us + kSecond, key);
      }
      while (!held_.empty() && held_.front().first <= now.steady_us) {
        EXPECT_TRUE(DoneNow(held_.front().second));
        held_.pop_front();
      }
      window_.push_back(fired);
      in_window_ += fired;
      if (window_.size() > kSecond / kStepUs) {
        in_window_ -= window_.front();
        window_.pop_front();
      }
      most = std::max(most, in_window_);
      total_ += fired;
    }
    return most;
  }

  std::map<std::string, int64_t> last_us_;
  std::deque<std::pair<int64_t, std::string>> held_;
  std::deque<size_t> window_;
  size_t in_window_ = 0;
  size_t total_ = 0;
  int64_t longest_us_ = 0;
};

TEST_F(ResyncSimulation, KeysThatWereAddedTogetherAreResyncedEvenly) {
  AddAll();
  const size_t mean = kKeys / 100;  // A second.
  EXPECT_LE(Run(10), mean * 12 / 10);
  EXPECT_GT(total_, kKeys * 85 / 10) << "each about once in its period";
  EXPECT_LE(longest_us_, kPeriodUs * 21 / 10) << "its period, and late by up to one";
  longest_us_ = 0;
  EXPECT_LE(Run(10), mean * 12 / 10);
  EXPECT_LE(longest_us_, kPeriodUs * 13 / 10) << "they are spread by now";
}

TEST_F(ResyncSimulation, AfterADowntimeWhatIsOverdueIsSpread) {
  AddAll();
  Run(5);
  held_.clear();
  now.steady_us += 20 * kPeriodUs;
  now.wall_us += 20 * kPeriodUs;
  Crash();
  window_.clear();
  in_window_ = 0;
  for (auto& [_, last_us] : last_us_) {
    last_us = now.steady_us;
  }
  longest_us_ = 0;
  while (!Get().empty()) {  // Those that were held when the process died.
  }
  EXPECT_LE(Run(1), size_t{kKeys} / 100 * 12 / 10);
  EXPECT_LE(longest_us_, kPeriodUs);
}

}  // namespace
}  // namespace wq
