// MemoryLog: the contract of a log, and what this one promises beyond it.
#include "storage/replication/memory_log.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "tests/replication/log_contract.h"
#include "wq/clock.h"
#include "wq/internal/memory_log.h"

namespace wq::replication {
namespace {

using std::chrono::milliseconds;
using storage::MemoryLog;

LogSubject OnManualClock() {
  const auto clock = std::make_shared<ManualClock>();
  return {.name = "ManualClock",
          .make = [clock] { return std::make_shared<MemoryLog>(clock.get()); },
          .advance = [clock](milliseconds by) { clock->Advance(by); }};
}

INSTANTIATE_TEST_SUITE_P(MemoryLog, ReplicatedLogContract,
                         testing::Values(OnManualClock(),
                                         LogSubject{.name = "SystemClock",
                                                    .make = [] { return MakeMemoryLog(); },
                                                    .lease = milliseconds(2000)}),
                         [](const auto& info) { return info.param.name; });

TEST(MemoryLogTest, FollowersOfADestroyedLogGetNotFound) {
  MemoryLog log;
  Watch watch(&log, 1);
  ASSERT_OK(watch.UntilOwner(""));
  ASSERT_OK(log.Destroy(false));
  EXPECT_CODE(kNotFound, watch.Until([] { return false; }));
}

TEST(MemoryLogTest, AFollowerOutlivesItsLog) {
  auto log = std::make_unique<MemoryLog>();
  LogLease lease;
  ASSERT_OK(log->Acquire("a", milliseconds(60'000), &lease));
  ASSERT_OK(log->Append(lease.epoch, 1, "x"));
  Watch watch(log.get(), 1);
  log.reset();
  EXPECT_OK(watch.UntilEntries("1=x"));
}

TEST(MemoryLogTest, BadArgumentsAreNamed) {
  MemoryLog log;
  LogLease lease;
  EXPECT_CODE(kInvalidArgument, log.Acquire("", milliseconds(1), &lease));
  EXPECT_CODE(kInvalidArgument, log.Acquire("a", milliseconds(0), &lease));
  EXPECT_CODE(kInvalidArgument, log.PutReplica({}));
  std::string uuid;
  EXPECT_CODE(kInvalidArgument, log.Claim(&uuid));
  ASSERT_OK(log.Acquire("a", milliseconds(60'000), &lease));
  const std::string long_entry(kMaxLogEntryBytes + 1, 'x');
  EXPECT_CODE(kInvalidArgument, log.Append(lease.epoch, 1, long_entry));
  EXPECT_CODE(kInvalidArgument, log.PutCheckpointPart(lease.epoch, "one", 0, long_entry));
  EXPECT_CODE(kInvalidArgument, log.Append(lease.epoch, 2, "a gap"));
  EXPECT_CODE(kInvalidArgument, log.CommitCheckpoint(lease.epoch, {.id = "one", .parts = 1}));
}

}  // namespace
}  // namespace wq::replication
