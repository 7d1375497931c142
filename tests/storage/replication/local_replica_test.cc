// LocalReplica: damaged entries, and what the process log of a replica had ahead.
#include "storage/local_replica.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/process_log.h"
#include "tests/storage/replication/replica_fixture.h"

namespace wq::storage {
namespace {

using LocalReplicaTest = ReplicaFixture;

TEST_F(LocalReplicaTest, ADamagedEntryIsNamedAndNothingFromItOnIsApplied) {
  const auto owner = Own(&copy_);
  ASSERT_OK(Put(owner.get(), Family::kCursors, "c", "1"));
  ASSERT_OK(Put(owner.get(), Family::kCursors, "c", "2"));
  std::vector<LogEntry> entries;
  ASSERT_OK(log_->Read(1, SIZE_MAX, &entries));
  ASSERT_EQ(entries.size(), 3U);
  Other other(/*seeded=*/true);
  ASSERT_OK(other.copy.Apply({entries.data(), 2}));
  entries[2].bytes.back() ^= 1;
  EXPECT_STATUS(kCorruption, "entry 3", other.copy.Apply({&entries[2], 1}));
  EXPECT_EQ(Contents(other.base, Family::kCursors), "c=1");
  EXPECT_EQ(other.copy.next(), 3U);
  EXPECT_STATUS(kCorruption, "entry 2", other.copy.Apply({&entries[1], 1}));  // Not the next.
  ASSERT_OK(other.copy.CatchUp(log_.get()));  // Read again, it is good.
  EXPECT_EQ(Contents(other.base, Family::kCursors), "c=2");
}

// A MemoryStorage with a process log.
class LoggedStorage final : public Storage {
 public:
  LoggedStorage(std::shared_ptr<MemoryDisk> disk, std::unique_ptr<ProcessLog> log)
      : base_(std::move(disk)), log_(std::move(log)) {}

  Status Get(Family family, std::string_view key, std::string* value) const override {
    return base_.Get(family, key, value);
  }
  Status Scan(Family family, std::string_view begin, std::string_view end,
              const Visitor& visit) const override {
    return base_.Scan(family, begin, end, visit);
  }
  Status Write(MutationBatch& batch, bool sync) override { return base_.Write(batch, sync); }
  Status Sync() override { return base_.Sync(); }
  ProcessLog* process_log() override { return log_.get(); }
  Status Reopen() override { return base_.Reopen(); }
  Status Close() override { return base_.Close(); }

 private:
  MemoryStorage base_;
  const std::unique_ptr<ProcessLog> log_;
};

// Otherwise the next ownership would take it for its own.
TEST_F(LocalReplicaTest, ADiskThatFailsAtTheEndOfAnOwnershipLeavesNothingInTheProcessLog) {
  const TestDirectory dir;
  std::unique_ptr<ProcessLog> created;
  const Status s = ProcessLog::Create(
      dir.path(), {.store_uuid = "u", .boot_id = "b", .number = 1, .capacity = 1 << 16}, &created);
  if (!s.ok()) GTEST_SKIP() << s.message();
  ProcessLog* const process_log = created.get();
  LoggedStorage base(disk_, std::move(created));
  LocalReplica copy(&base);
  ASSERT_OK(copy.Load());
  const auto owner = Own(&copy);
  MutationBatch batch;
  batch.Put(Family::kCursors, "c", "ahead");
  ASSERT_TRUE(process_log->Append(batch.mutations()));
  FailDisk(true);
  EXPECT_EQ(copy.EndOwnership().code(), StatusCode::kIOError);
  EXPECT_EQ(copy.Recover().code(), StatusCode::kIOError);
  FailDisk(false);
  ASSERT_OK(copy.Recover());
  EXPECT_EQ(process_log->Used(), 0U);
  EXPECT_EQ(copy.ahead(), batch.mutations());
}

// On a disk: what is in the process log of a replica may not be in the log, and somebody else may
// have written since. It must not become part of the copy at the opening.
TEST_F(LocalReplicaTest, WhatTheProcessLogHasIsKeptAsideAtAnOpening) {
  const TestDirectory dir;
  const OpenOptions options = {
      .create_if_missing = true, .process_log_bytes = 1 << 16, .replicated = true};
  MutationBatch first;
  first.Put(Family::kCursors, "c", "ahead");
  MutationBatch second;
  second.Put(Family::kCursors, "d", "ahead");
  std::unique_ptr<Storage> base;
  ASSERT_OK(OpenStorage(dir.path(), options, &base));
  ProcessLog* const process_log = base->process_log();
  if (process_log == nullptr) GTEST_SKIP() << base->ProcessLogStatus().message();
  {
    LocalReplica copy(base.get());
    ASSERT_OK(copy.Begin(/*seeded=*/true));
    const auto owner = Own(&copy);
    ASSERT_TRUE(process_log->Append(first.mutations()));
    ASSERT_TRUE(process_log->Append(second.mutations()));
  }
  base.reset();  // As a kill leaves it.
  ASSERT_OK(OpenStorage(dir.path(), options, &base));
  EXPECT_EQ(Contents(*base, Family::kCursors), "");
  {
    LocalReplica copy(base.get());
    ASSERT_OK(copy.Load());
    EXPECT_EQ(copy.ahead(), std::string(first.mutations()) + std::string(second.mutations()));
    EXPECT_EQ(copy.position().sequence, 1U);
    // Nobody has owned since: it comes back, and to the other replicas, too.
    clock_.Advance(kLease);
    const auto owner = Own(&copy);
    EXPECT_EQ(Contents(*base, Family::kCursors), "c=ahead d=ahead");
    EXPECT_EQ(copy.ahead(), "");
    Other other(/*seeded=*/true);
    ASSERT_OK(other.copy.CatchUp(log_.get()));
    EXPECT_EQ(Contents(other.base, Family::kCursors), "c=ahead d=ahead");
  }
}

}  // namespace
}  // namespace wq::storage
