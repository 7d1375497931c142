// Resyncs: QueueOptions::resync, DelayMode::kResync, and the ResyncGate.

#include <algorithm>
#include <deque>
#include <initializer_list>
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

TEST_F(ResyncTest, TheLongestPeriodIsKept) {
  Reopen({.resync = {kMaxDelay, 0}});
  for (const char* key : {"a", "b"}) {
    Add(key);
    Reconcile();
  }
  for (int period = 1; period <= 3; ++period) {
    Advance(kMaxDelay.count());
    EXPECT_EQ(Reconcile(), "a") << period;
    Advance(kMaxDelay.count() / 2);
    EXPECT_EQ(Reconcile(), "b") << period;
  }
}

// A queue fires in pieces of so many keys, until nothing is due.
TEST_F(ResyncTest, AnyNumberOfKeysKeepsItsPeriodBesideDelaysThatAreDue) {
  constexpr int kKeys = 3000;
  constexpr size_t kPiece = 256;
  constexpr int kPeriods = 11;
  Reopen({.order = Order::kTwoLanes, .resync = {100ms, 0}});
  for (int i = 0; i < kKeys; ++i) {
    Add("k" + std::to_string(i));
  }
  for (int i = 0; i < kKeys; ++i) {
    Reconcile();
  }
  std::map<std::string, int> resyncs;
  const int64_t end_us = now.steady_us + kPeriods * kSecond / 10;
  while (now.steady_us < end_us) {
    for (size_t i = 0; i <= kPiece; ++i) {
      AddAfter("delayed" + std::to_string(i), ResyncGate::kTickUs);
    }
    now.steady_us += ResyncGate::kTickUs;
    now.wall_us += ResyncGate::kTickUs;
    while (state().NextDue().value_or(INT64_MAX) <= now.steady_us) {
      Do([this](QueueState& s) { return s.FireDue(now, kPiece); });
    }
    for (std::string key = Get(); !key.empty(); key = Get()) {
      resyncs[key] += key.front() == 'k' ? 1 : 0;
      EXPECT_TRUE(DoneNow(key));
    }
  }
  for (int i = 0; i < kKeys; ++i) {
    EXPECT_GE(resyncs["k" + std::to_string(i)], kPeriods - 2) << "key " << i;
  }
}

// --- Simulations ---

// Workers take a second for each key. A step is a tick. A few keys have a period of their own.
class ResyncSimulation : public ResyncTest {
 protected:
  static constexpr int kKeys = 10'000;
  static constexpr int64_t kStepUs = ResyncGate::kTickUs;
  static constexpr int64_t kPeriodUs = 100 * kSecond;

  void AddAll(std::initializer_list<int64_t> own_periods_us = {}) {
    Reopen({.order = Order::kTwoLanes, .resync = {100s, 0.1}});
    for (int i = 0; i < kKeys; ++i) {
      last_us_["k" + std::to_string(i)] = now.steady_us;
    }
    for (const int64_t period_us : own_periods_us) {
      for (int i = 0; i < 10; ++i) {
        const std::string key = std::to_string(period_us) + " us " + std::to_string(i);
        last_us_[key] = now.steady_us;
        own_us_[key] = period_us;
      }
    }
    for (const auto& [key, _] : last_us_) {
      Add(key);
    }
    for (size_t i = 0; i < last_us_.size(); ++i) {
      Finish(Get());
    }
  }

  void Finish(const std::string& key) {
    if (const auto own = own_us_.find(key); own != own_us_.end()) {
      ResyncIn(key, own->second);
    }
    EXPECT_TRUE(DoneNow(key));
  }

  // The process is down for so many periods.
  void Down(int periods) {
    held_.clear();
    now.steady_us += periods * kPeriodUs;
    now.wall_us += periods * kPeriodUs;
    Crash();
    window_.clear();
    in_window_ = 0;
    for (auto& [_, last_us] : last_us_) {
      last_us = now.steady_us;
    }
    longest_us_ = 0;
    longest_own_ = 0;
    for (std::string key = Get(); !key.empty(); key = Get()) {  // Held when the process died.
      held_.emplace_back(now.steady_us + kSecond, key);
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
        const int64_t gap_us = now.steady_us - std::exchange(last_us_.at(key), now.steady_us);
        if (const auto own = own_us_.find(key); own != own_us_.end()) {
          longest_own_ = std::max(longest_own_, static_cast<double>(gap_us - kSecond) /
                                                    static_cast<double>(own->second));
        } else {
          longest_us_ = std::max(longest_us_, gap_us);
        }
        held_.emplace_back(now.steady_us + kSecond, key);
      }
      while (!held_.empty() && held_.front().first <= now.steady_us) {
        Finish(held_.front().second);
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
  std::map<std::string, int64_t> own_us_;
  double longest_own_ = 0;  // From a Done to the next hand-out, in periods of the key.
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
  Down(20);
  EXPECT_LE(Run(1), size_t{kKeys} / 100 * 12 / 10);
  EXPECT_LE(longest_us_, kPeriodUs);
}

TEST_F(ResyncSimulation, AShortPeriodIsKeptBesideManyKeysOfALongerOneThatAreDue) {
  AddAll({1 * kSecond, 10 * kSecond, 40 * kSecond});
  constexpr double kMost = 1.1 + 1;               // A period with its jitter, and late by one.
  constexpr size_t kMean = kKeys / 100 + 10 / 2;  // A second.
  EXPECT_LE(Run(3), kMean * 12 / 10);
  EXPECT_LE(longest_own_, kMost) << "after a burst of Adds";
  EXPECT_LE(longest_us_, kPeriodUs * 21 / 10);
  Down(20);
  EXPECT_LE(Run(2), kMean * 12 / 10);
  EXPECT_LE(longest_own_, kMost) << "after a downtime";
  EXPECT_LE(longest_us_, kPeriodUs * 21 / 10);
}

}  // namespace
}  // namespace wq
