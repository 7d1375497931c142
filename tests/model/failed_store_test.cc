// Random calls on two queues. The disk of one fails and works again: while it is failed, its
// records are those of the instant of the failure; after recovery they are those of the other
// queue's disk.
//
// WQ_SEED picks the seed (a failing run prints its own), WQ_FAILED_STORE_CALLS how
// many calls.

#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/store/store_impl.h"
#include "tests/model/call_source.h"
#include "tests/model/image.h"
#include "tests/model/real_queue.h"
#include "tests/support/environment.h"
#include "tests/support/memory_storage.h"

namespace wq::model {
namespace {

using support::FromEnvironment;

// A queue on a disk of maps, which the test can make fail.
class FallibleQueue {
 public:
  explicit FallibleQueue(const QueueOptions& options) : queue_(options, &clock_) { Open(); }

  std::string Do(const Call& call) { return queue_.Do(call); }
  Status Flush() { return queue_.queue()->Flush(Durability::kProcess); }
  Store* store() { return store_.get(); }

  void OnDisk(const std::function<void(storage::MemoryDisk::State&)>& change) {
    const MutexLock lock(disk_->mu);
    change(disk_->state);
  }
  std::string Records() const {
    Image image;
    const Status s = ReadImage(storage::MemoryStorage(disk_), "q", &image);
    return s.ok() ? image.ToString() : s.ToString();
  }
  auto Bytes() {
    const MutexLock lock(disk_->mu);
    return disk_->state.families;
  }
  void Crash() {
    OnDisk([](auto& disk) {
      disk.fail_after = 0;
      disk.apply_failed = false;
    });
    queue_.Drop();
    store_.reset();
    OnDisk([](auto& disk) { disk.fail_after = UINT64_MAX; });
    Open();
  }

 private:
  void Open() {
    StoreOptions options;
    options.clock = &clock_;
    // Only calls write, and only Recover makes attempts.
    options.flush_interval = std::chrono::hours(1);
    options.recovery_backoff_min = std::chrono::hours(1);
    Status s =
        Store::Impl::Open(options, "", std::make_unique<storage::MemoryStorage>(disk_), &store_);
    ASSERT_TRUE(s.ok()) << s.message();
    s = queue_.Open(store_.get(), "q", Durability::kProcess);
    ASSERT_TRUE(s.ok()) << s.message();
  }

  ManualClock clock_{{.steady_us = 0, .wall_us = kStartWallUs}};
  std::shared_ptr<storage::MemoryDisk> disk_ = std::make_shared<storage::MemoryDisk>();
  std::unique_ptr<Store> store_;
  RealQueue queue_;
};

// A queue whose disk fails, and its twin, whose disk does not. Both get the same calls.
class Twins {
 public:
  Twins(const QueueOptions& options, uint64_t seed)
      : options_(options),
        random_(seed),
        // Not fewer lanes: a recovery writes the lanes of memory, a reopening leaves those of rows
        // that it does not move.
        source_(options, seed, {.batch_keys = 1000, .reopens = true, .changes_many = true}),
        failing_(options),
        twin_(options) {}

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
    ASSERT_TRUE(failing_.Flush().ok());
    ASSERT_TRUE(twin_.Flush().ok());
    ASSERT_EQ(failing_.Records(), twin_.Records());
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
    auto failing = failing_.Bytes();
    auto twin = twin_.Bytes();
    for (auto* bytes : {&failing, &twin}) {
      (*bytes)[static_cast<size_t>(storage::Family::kDirty)].clear();
      (*bytes)[static_cast<size_t>(storage::Family::kLanes)].clear();
    }
    EXPECT_EQ(failing, twin);
  }

  uint64_t recoveries() const { return recoveries_; }

 private:
  uint64_t Below(uint64_t n) { return random_() % n; }
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
    const std::string before = twin_.Records();
    const std::string expected = twin_.Do(call);
    const std::string result = failing_.Do(call);
    const bool failed_now = healthy_ && !failing_.store()->Health().ok();
    if (failed_now) {
      healthy_ = false;
      records_ = failing_.Records();
      // The disk has the whole effect of the call that failed, or none.
      ASSERT_TRUE(records_ == before || records_ == twin_.Records()) << call.ToString();
    }
    if (healthy_) {
      ASSERT_EQ(result, expected) << call.ToString();
    } else {
      // A call that needs no write, as it is refused or already on disk, has its usual result.
      ASSERT_TRUE(result == expected || result == "NotDurable") << call.ToString() << " " << result;
      ASSERT_EQ(failing_.Records(), records_) << call.ToString();
    }
  }

  const QueueOptions options_;
  std::mt19937_64 random_;
  CallSource source_;
  FallibleQueue failing_;
  FallibleQueue twin_;
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
