// One replica in memory, its link to a log in memory, and a clock that stands.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "storage/local_replica.h"
#include "storage/replicated_storage.h"
#include "tests/storage/support.h"
#include "tests/support/faulty_log.h"
#include "tests/support/memory_log.h"
#include "tests/support/memory_storage.h"
#include "wq/clock.h"

namespace wq::storage {

using support::FaultyLog;

class ReplicaFixture : public testing::Test {
 protected:
  static constexpr std::chrono::milliseconds kLease{10'000};

  ReplicaFixture() { EXPECT_OK(copy_.Begin(/*seeded=*/true)); }

  // Another copy, which has nothing of the log yet.
  struct Other {
    std::shared_ptr<MemoryDisk> disk = std::make_shared<MemoryDisk>();
    MemoryStorage base{disk};
    LocalReplica copy{&base};
    explicit Other(bool seeded) { EXPECT_OK(copy.Begin(seeded)); }
  };

  LogLease Acquire(std::string_view name) {
    LogLease lease;
    EXPECT_OK(log_->Acquire(name, kLease, &lease));
    return lease;
  }
  // The owner's storage, begun.
  std::unique_ptr<ReplicatedStorage> Own(
      LocalReplica* copy, std::chrono::milliseconds timeout = std::chrono::milliseconds(0)) {
    const LogLease lease = Acquire("a");
    EXPECT_OK(copy->CatchUp(log_.get()));
    auto owner = std::make_unique<ReplicatedStorage>(
        copy, link_.get(),
        ReplicatedStorage::Options{.epoch = lease.epoch,
                                   .write_timeout = timeout,
                                   .retry_wait = std::chrono::milliseconds(1)});
    EXPECT_OK(owner->Begin());
    return owner;
  }
  LogState State() {
    LogState state;
    EXPECT_OK(log_->State(&state));
    return state;
  }
  void FailDisk(bool fail) {
    const MutexLock lock(disk_->mu);
    disk_->state.fail_after = fail ? 0 : UINT64_MAX;
  }

  ManualClock clock_;
  const std::shared_ptr<support::MemoryLog> log_ = std::make_shared<support::MemoryLog>(&clock_);
  const std::shared_ptr<FaultyLog> link_ = std::make_shared<FaultyLog>(log_);
  const std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  MemoryStorage base_{disk_};
  LocalReplica copy_{&base_};
};

}  // namespace wq::storage
