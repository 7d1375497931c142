// Random calls on two queues. The disk of one fails and works again: while it is failed, its
// records are those of the instant of the failure; after recovery they are those of the other
// queue's disk.
//
// WQ_SEED picks the seed (a failing run prints its own), WQ_FAILED_STORE_CALLS how
// many calls.

#include <array>
#include <iostream>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "tests/model/call_source.h"
#include "tests/model/real_queue.h"
#include "tests/support/environment.h"
#include "tests/support/memory_storage.h"

namespace wq::model {
namespace {

using support::FromEnvironment;

// Only calls write.
const support::Buffers kCallsWrite{.flush_interval_ms = 3'600'000};

auto BytesOf(const MapQueue& queue) {
  std::array<storage::MemoryDisk::Records, storage::kFamilyCount> families;
  queue.OnDisk([&families](auto& disk) { families = disk.families; });
  return families;
}

// A queue whose disk fails, and its twin, whose disk does not. Both get the same calls.
class Twins {
 public:
  Twins(const QueueOptions& options, uint64_t seed)
      : options_(options),
        random_(seed),
        // Not fewer lanes: a recovery writes the lanes of memory, a reopening leaves those of rows
        // that it does not move.
        source_(options, seed,
                {.batch_keys = 1000, .reopens = true, .changes_many = true, .reads_rows = false}),
        failing_(options, kCallsWrite),
        twin_(options, kCallsWrite) {}

  // What the present calls are like.
  std::string ToString() const { return source_.ToString(); }

  void Step() {
    if (healthy_ && Below(60) == 0) {
      failing_.OnDisk([this](auto& disk) {
        disk.fail_after = Below(4);
        disk.apply_failed = Below(2) == 0;
      });
    } else if (!healthy_ && Below(12) == 0) {
      Recover();
    } else {
      Do(NextCall());
    }
  }

  void Recover() {
    if (Below(3) == 0) {  // May fail, and leave any state of the disk.
      static_cast<void>(failing_.store()->Recover());
    } else if (Below(3) == 0) {
      failing_.OnDisk([](auto& disk) { disk.fail_reopen = true; });
      EXPECT_EQ(failing_.store()->Recover().code(), StatusCode::kNotDurable);
    }
    Heal();
    ASSERT_TRUE(failing_.store()->Recover().ok());
    healthy_ = true;
    ++recoveries_;
    Compare();
  }

  void Compare() {
    ASSERT_TRUE(failing_.queue()->Flush(Durability::kProcess).ok());
    ASSERT_TRUE(twin_.queue()->Flush(Durability::kProcess).ok());
    ASSERT_EQ(RecordsOf(failing_), RecordsOf(twin_));
  }
  void CompareAtTheEnd() {
    if (!healthy_) {
      Recover();
    }
    Heal();
    Compare();
    // Byte for byte, except for pending keys, whose times may differ: the record of a key that was
    // added while it was processing has the earlier time, but a record that the recovery writes
    // has the later time.
    auto failing = BytesOf(failing_);
    auto twin = BytesOf(twin_);
    for (auto* bytes : {&failing, &twin}) {
      (*bytes)[static_cast<size_t>(storage::Family::kDirty)].clear();
      (*bytes)[static_cast<size_t>(storage::Family::kLanes)].clear();
    }
    EXPECT_EQ(failing, twin);
  }

  uint64_t recoveries() const { return recoveries_; }

 private:
  uint64_t Below(uint64_t n) { return random_() % n; }
  static std::string RecordsOf(const MapQueue& queue) { return queue.Records().ToString(); }
  // Every call waits for the disk, so that both disks get the same writes.
  Call NextCall() {
    Call call = source_.Next();
    call.durability.reset();
    return call;
  }
  void Heal() {
    failing_.OnDisk([](auto& disk) {
      disk.fail_after = UINT64_MAX;
      disk.fail_reopen = false;
    });
  }

  void Do(const Call& call) {
    if (call.op == Op::kCrash) {
      if (healthy_) {
        Heal();
        Compare();
        failing_.Crash();
        twin_.Crash();
      }
      return;
    }
    if (call.op == Op::kReopen || call.op == Op::kDeleteQueue) {
      if (!healthy_) {
        Recover();  // A failed store opens no queue.
      }
      Heal();
      ASSERT_EQ(failing_.Do(call), twin_.Do(call));
      Compare();
      return;
    }
    const std::string before = RecordsOf(twin_);
    const std::string expected = twin_.Do(call);
    const std::string result = failing_.Do(call);
    const bool failed_now = healthy_ && !failing_.store()->Health().ok();
    if (failed_now) {
      healthy_ = false;
      records_ = RecordsOf(failing_);
      // The disk has the whole effect of the call that failed, or none.
      ASSERT_TRUE(records_ == before || records_ == RecordsOf(twin_)) << call.ToString();
    }
    if (healthy_) {
      ASSERT_EQ(result, expected) << call.ToString();
    } else {
      // A call that needs no write, as it is refused or already on disk, has its usual result.
      ASSERT_TRUE(result == expected || result == "NotDurable") << call.ToString() << " " << result;
      ASSERT_EQ(RecordsOf(failing_), records_) << call.ToString();
    }
  }

  const QueueOptions options_;
  std::mt19937_64 random_;
  CallSource source_;
  MapQueue failing_;
  MapQueue twin_;
  bool healthy_ = true;
  std::string records_;  // While failed: those on the disk.
  uint64_t recoveries_ = 0;
};

class FailedStore : public ::testing::TestWithParam<QueueOptions> {};

TEST_P(FailedStore, RandomCallsWhileTheDiskFailsAndWorksAgain) {
  const uint64_t seed = support::Seed();
  const uint64_t calls = FromEnvironment("WQ_FAILED_STORE_CALLS", 8'000);
  RecordProperty("seed", std::to_string(seed));
  std::cout << "replay with WQ_SEED=" << seed << "\n";
  Twins twins(GetParam(), seed);
  for (uint64_t i = 0; i < calls; ++i) {
    twins.Step();
    if (HasFatalFailure()) {
      FAIL() << "call " << i << " of seed " << seed << "; " << twins.ToString();
    }
  }
  twins.CompareAtTheEnd();
  EXPECT_GT(twins.recoveries(), calls / 200);
}

constexpr const char* kNames[] = {"TwoLanes", "Priorities", "FairShards", "MergeDelays", "Limits"};
INSTANTIATE_TEST_SUITE_P(
    Rules, FailedStore,
    ::testing::Values(QueueOptions{.order = Order::kTwoLanes},
                      QueueOptions{.order = Order::kPriorities,
                                   .max_requeues = 2,
                                   .quarantined_add = QuarantinedAdd::kRelease},
                      QueueOptions{.order = Order::kFair, .shards = 2, .max_requeues = 2},
                      QueueOptions{.order = Order::kPriorities,
                                   .re_add = ReAdd::kRaisesLane,
                                   .merge_delays = true},
                      QueueOptions{.order = Order::kTwoLanes,
                                   .group_limits = {.max_processing = 1},
                                   .limits = {.rate = {.per_second = 1, .burst = 3}}}),
    [](const auto& info) { return std::string(kNames[info.index]); });

}  // namespace
}  // namespace wq::model
