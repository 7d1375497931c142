// Checkpoints: what is read is what was written, and a damaged or missing one costs nothing.
#include "storage/replication/checkpoint.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "tests/storage/replication/replica_fixture.h"

namespace wq::storage {
namespace {

class CheckpointTest : public ReplicaFixture {
 protected:
  // The checkpoint of the owner's copy, committed.
  LogCheckpoint Write() {
    LogCheckpoint made;
    EXPECT_OK(WriteCheckpoint(base_, link_.get(), State().owner.epoch, 7, stop_, &made));
    return made;
  }

  std::atomic<bool> stop_{false};
};

TEST_F(CheckpointTest, ARowLongerThanAPartComesBack) {
  const auto owner = Own(&copy_);
  const std::string longest(kMaxLogEntryBytes, 'x');  // As a cursor may be.
  const std::string longer(3 * kMaxLogEntryBytes + 5, 'y');
  ASSERT_OK(Put(owner.get(), Family::kDirty, "a", "1"));
  ASSERT_OK(Put(owner.get(), Family::kCursors, "b", longest));
  ASSERT_OK(Put(owner.get(), Family::kCursors, "c", longer));
  ASSERT_OK(Put(owner.get(), Family::kCursors, "d", "2"));
  const LogCheckpoint made = Write();
  EXPECT_EQ(made.sequence, copy_.position().sequence);
  EXPECT_EQ(made.rows, 4U);
  EXPECT_GE(made.parts, 6U);
  Other other(/*seeded=*/false);
  ASSERT_OK(Put(&other.base, Family::kDirty, "former", "row"));
  ASSERT_OK(ReadCheckpoint(log_.get(), made, stop_, &other.copy));
  EXPECT_TRUE(other.copy.seeded());
  EXPECT_EQ(other.copy.position().sequence, made.sequence);
  EXPECT_EQ(Contents(other.base, Family::kDirty), "a=1");
  EXPECT_TRUE(Contents(other.base, Family::kCursors) == Contents(base_, Family::kCursors));
}

TEST_F(CheckpointTest, ADamagedPartIsNamedAndTheCopyStays) {
  const auto owner = Own(&copy_);
  ASSERT_OK(Put(owner.get(), Family::kCursors, "b", std::string(kMaxLogEntryBytes, 'x')));
  LogCheckpoint made = Write();
  std::string part;
  ASSERT_GE(made.parts, 2U);
  ASSERT_OK(log_->ReadCheckpointPart(made.id, 1, &part));
  const std::string good = part;
  Other other(/*seeded=*/true);
  ASSERT_OK(Put(&other.base, Family::kDirty, "kept", "1"));
  const auto expect_corruption = [&](const std::string& bytes) {
    ASSERT_OK(log_->PutCheckpointPart(State().owner.epoch, made.id, 1, bytes));
    const Status s = ReadCheckpoint(log_.get(), made, stop_, &other.copy);
    EXPECT_STATUS(kCorruption, "part 1 of checkpoint " + made.id, s);
    EXPECT_EQ(Contents(other.base, Family::kDirty), "kept=1");
    EXPECT_TRUE(other.copy.seeded());
  };
  for (const size_t at : {size_t{0}, size_t{7}, size_t{8}, part.size() - 1}) {
    part = good;
    part[at] ^= 0x20;
    expect_corruption(part);
  }
  expect_corruption("");
  expect_corruption("short");
  expect_corruption(good.substr(0, good.size() - 1));
  ASSERT_OK(log_->PutCheckpointPart(State().owner.epoch, made.id, 1, good));
  EXPECT_OK(ReadCheckpoint(log_.get(), made, stop_, &other.copy));
  EXPECT_EQ(Contents(other.base, Family::kDirty), "");
}

TEST_F(CheckpointTest, AReplacedOneIsNotFoundAndTheCopyStays) {
  const auto owner = Own(&copy_);
  const LogCheckpoint former = Write();
  ASSERT_OK(Put(owner.get(), Family::kCursors, "c", "1"));
  Write();
  Other other(/*seeded=*/true);
  ASSERT_OK(Put(&other.base, Family::kDirty, "kept", "1"));
  EXPECT_EQ(ReadCheckpoint(log_.get(), former, stop_, &other.copy).code(), StatusCode::kNotFound);
  EXPECT_EQ(Contents(other.base, Family::kDirty), "kept=1");
}

TEST_F(CheckpointTest, AnInterruptedOneChangesNothing) {
  const auto owner = Own(&copy_);
  ASSERT_OK(Put(owner.get(), Family::kCursors, "c", "1"));
  const LogCheckpoint made = Write();
  stop_ = true;
  LogCheckpoint next;
  EXPECT_EQ(WriteCheckpoint(base_, log_.get(), State().owner.epoch, 7, stop_, &next).code(),
            StatusCode::kShuttingDown);
  EXPECT_EQ(State().checkpoint->id, made.id);
  Other other(/*seeded=*/true);
  ASSERT_OK(Put(&other.base, Family::kDirty, "kept", "1"));
  EXPECT_EQ(ReadCheckpoint(log_.get(), made, stop_, &other.copy).code(), StatusCode::kShuttingDown);
  EXPECT_EQ(Contents(other.base, Family::kDirty), "kept=1");
}

TEST_F(CheckpointTest, ACrashWhileItIsReadLeavesACopyThatIsNotSeeded) {
  const auto owner = Own(&copy_);
  ASSERT_OK(Put(owner.get(), Family::kCursors, "c", "1"));
  const LogCheckpoint made = Write();
  for (uint64_t writes = 1;; ++writes) {
    Other other(/*seeded=*/true);
    {
      const MutexLock lock(other.disk->mu);
      other.disk->state.fail_after = writes;
    }
    if (ReadCheckpoint(log_.get(), made, stop_, &other.copy).ok()) {
      EXPECT_GE(writes, 4U);
      return;
    }
    MemoryStorage after(other.disk);
    LocalReplica copy(&after);
    ASSERT_OK(copy.Load());
    EXPECT_FALSE(copy.seeded()) << "after " << writes << " writes";
  }
}

}  // namespace
}  // namespace wq::storage
