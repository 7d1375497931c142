// Random calls on two queues, one of whose disks fails and comes back: while it is failed its records
// are those of one moment, and once mended those of the other one.
//
// WQ_FAILED_STORE_SEED picks the seed (a failing run prints its own), WQ_FAILED_STORE_CALLS how many calls.

#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/store/store_impl.h"
#include "storage/memory_storage.h"
#include "tests/model/call_source.h"
#include "tests/model/image.h"
#include "tests/model/real_queue.h"
#include "tests/support/environment.h"

namespace wq::model {
namespace {

using support::FromEnvironment;

// A queue on a disk of maps that can be made to fail.
class SickQueue {
 public:
  explicit SickQueue(const QueueOptions& options) : queue_(options, &clock_) { Open(); }

  std::string Do(const Call& call) { return queue_.Do(call); }
  Status Flush() { return queue_.queue()->Flush(Durability::kProcess); }
  Store* store() { return store_.get(); }

  void OnDisk(const std::function<void(storage::MemoryDisk::State&)>& change) {
    const MutexLock lock(disk_->mu);
    change(disk_->state);
  }
  std::string Records() const {
    Image image;
    const Status s = ReadImage(storage::MemoryStorage(disk_), 1, &image);
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
    options.flush_interval = std::chrono::hours(1);        // Nothing is written,
    options.recovery_backoff_min = std::chrono::hours(1);  // or tried, by itself.
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

// One queue whose disk fails, and its twin, whose disk does not.
class Twins {
 public:
  Twins(const QueueOptions& options, uint64_t seed)
      : options_(options), random_(seed), source_(options, seed), sick_(options), well_(options) {}

  void Step() {
    if (healthy_ && Below(60) == 0) {
      sick_.OnDisk([this](auto& disk) {
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
    if (Below(3) == 0) {  // The writing may fail, whatever is there of it then.
      static_cast<void>(sick_.store()->Recover());
    } else if (Below(3) == 0) {
      sick_.OnDisk([](auto& disk) { disk.fail_reopen = true; });
      EXPECT_EQ(sick_.store()->Recover().code(), StatusCode::kNotDurable);
    }
    Heal();
    ASSERT_TRUE(sick_.store()->Recover().ok());
    healthy_ = true;
    ++mended_;
    Compare();
  }

  void Compare() {
    ASSERT_TRUE(sick_.Flush().ok());
    ASSERT_TRUE(well_.Flush().ok());
    ASSERT_EQ(sick_.Records(), well_.Records());
  }
  void CompareAtTheEnd() {
    if (!healthy_) {
      Recover();
    }
    Heal();
    Compare();
    // Byte for byte, but for pending keys: a key that is held and dirty was added later than its record says,
    // and the mended record says so.
    auto sick = sick_.Bytes();
    auto well = well_.Bytes();
    for (auto* bytes : {&sick, &well}) {
      (*bytes)[static_cast<size_t>(storage::Family::kDirty)].clear();
      (*bytes)[static_cast<size_t>(storage::Family::kLanes)].clear();
    }
    EXPECT_EQ(sick, well);
  }

  uint64_t mended() const { return mended_; }

 private:
  uint64_t Below(uint64_t n) { return random_() % n; }
  // Every call waits for the disk, so that both disks see the same writes.
  Call NextCall() {
    Call call = source_.Next();
    call.durability.reset();
    return call;
  }
  void Heal() {
    sick_.OnDisk([](auto& disk) {
      disk.fail_after = UINT64_MAX;
      disk.fail_reopen = false;
    });
  }

  void Do(const Call& call) {
    if (call.op == Op::kCrash) {
      if (healthy_) {
        Heal();
        Compare();
        sick_.Crash();
        well_.Crash();
      }
      return;
    }
    const std::string before = well_.Records();
    const std::string expected = well_.Do(call);
    const std::string said = sick_.Do(call);
    const bool failed_now = healthy_ && !sick_.store()->Health().ok();
    if (failed_now) {
      healthy_ = false;
      kept_ = sick_.Records();
      // All of the call that failed, or nothing.
      ASSERT_TRUE(kept_ == before || kept_ == well_.Records()) << call.ToString();
    }
    if (healthy_) {
      ASSERT_EQ(said, expected) << call.ToString();
    } else {
      // A reading, a refusal, or what stands on the disk already is no different.
      ASSERT_TRUE(said == expected || said == "NotDurable") << call.ToString() << " " << said;
      ASSERT_EQ(sick_.Records(), kept_) << call.ToString();
    }
  }

  const QueueOptions options_;
  std::mt19937_64 random_;
  CallSource source_;
  SickQueue sick_;
  SickQueue well_;
  bool healthy_ = true;
  std::string kept_;  // While failed: what is on the disk.
  uint64_t mended_ = 0;
};

class FailedStore : public ::testing::TestWithParam<QueueOptions> {};

TEST_P(FailedStore, RandomCallsWhileTheDiskComesAndGoes) {
  const uint64_t seed = FromEnvironment("WQ_FAILED_STORE_SEED", std::random_device{}());
  const uint64_t calls = FromEnvironment("WQ_FAILED_STORE_CALLS", 20'000);
  RecordProperty("seed", std::to_string(seed));
  std::cout << "replay with WQ_FAILED_STORE_SEED=" << seed << "\n";
  Twins twins(GetParam(), seed);
  for (uint64_t i = 0; i < calls; ++i) {
    twins.Step();
    if (HasFatalFailure()) {
      FAIL() << "call " << i << " of seed " << seed;
    }
  }
  twins.CompareAtTheEnd();
  EXPECT_GT(twins.mended(), calls / 200);
}

constexpr const char* kNames[] = {"TwoLanes", "Priorities", "FairShards"};
INSTANTIATE_TEST_SUITE_P(
    Rules, FailedStore,
    ::testing::Values(QueueOptions{.order = Order::kTwoLanes},
                      QueueOptions{.order = Order::kPriorities,
                                   .max_requeues = 2,
                                   .quarantined_add = QuarantinedAdd::kRelease},
                      QueueOptions{.order = Order::kFair, .shards = 2, .max_requeues = 2}),
    [](const auto& info) { return std::string(kNames[info.index]); });

}  // namespace
}  // namespace wq::model
