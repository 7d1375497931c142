// Reopening a failed storage: only at its path, only by its owner, never creating anything.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "tests/storage/support.h"

namespace wq::storage {
namespace {

class RocksdbReopen : public ::testing::Test {
 protected:
  RocksdbReopen() {
    EXPECT_OK(OpenNew(store_, &storage_));
    EXPECT_OK(Put(storage_.get(), Family::kDirty, "a", "1"));
  }
  std::string Dirty() { return Contents(*storage_, Family::kDirty); }

  const TestDirectory dir_;
  const std::string store_ = dir_ / "store";
  const std::string away_ = dir_ / "away";
  std::unique_ptr<Storage> storage_;
};

TEST_F(RocksdbReopen, GoesOnWithWhatWasWritten) {
  ASSERT_OK(storage_->Reopen());
  EXPECT_EQ(Dirty(), "a=1");
  EXPECT_OK(Put(storage_.get(), Family::kDirty, "b", "2"));
  ASSERT_OK(storage_->Reopen());
  EXPECT_EQ(Dirty(), "a=1 b=2");
  EXPECT_OK(storage_->Close());
  ASSERT_OK(OpenExisting(store_, &storage_));
  EXPECT_EQ(Dirty(), "a=1 b=2");
}

TEST_F(RocksdbReopen, KeepsTheOwnership) {
  ASSERT_OK(storage_->Reopen());
  std::unique_ptr<Storage> second;
  EXPECT_STATUS(kLocked, "process " + std::to_string(getpid()), OpenExisting(store_, &second));
}

TEST_F(RocksdbReopen, MakesNothingWhereTheStoreWas) {
  ASSERT_EQ(rename(store_.c_str(), away_.c_str()), 0);
  EXPECT_STATUS(kIOError, "OWNER", storage_->Reopen());
  EXPECT_NE(access(store_.c_str(), F_OK), 0);
  ASSERT_EQ(mkdir(store_.c_str(), 0700), 0);
  EXPECT_STATUS(kIOError, "OWNER", storage_->Reopen());
  EXPECT_TRUE(FilesIn(store_).empty());
  EXPECT_FALSE(Put(storage_.get(), Family::kDirty, "b", "2").ok());
  // Reopen succeeds once the directory is back.
  ASSERT_EQ(rmdir(store_.c_str()), 0);
  ASSERT_EQ(rename(away_.c_str(), store_.c_str()), 0);
  ASSERT_OK(storage_->Reopen());
  EXPECT_EQ(Dirty(), "a=1");
}

TEST_F(RocksdbReopen, IsOverForGoodOnceTheOwnershipIsLost) {
  const std::string owner = store_ + "/OWNER";
  ASSERT_EQ(rename(owner.c_str(), away_.c_str()), 0);
  WriteFile(owner, "1\n");
  EXPECT_STATUS(kLocked, "was replaced", storage_->Reopen());
  ASSERT_EQ(rename(away_.c_str(), owner.c_str()), 0);
  EXPECT_STATUS(kLocked, "was replaced", storage_->Reopen());
}

TEST_F(RocksdbReopen, SeesThatOwnerWasRemoved) {
  ASSERT_EQ(unlink((store_ + "/OWNER").c_str()), 0);
  EXPECT_STATUS(kLocked, "was removed", storage_->Reopen());
}

TEST_F(RocksdbReopen, LeavesAnotherStoreAlone) {
  const std::string format = ReadFile(store_ + "/FORMAT");
  WriteFile(store_ + "/FORMAT", "wq-store 1 00000000-0000-4000-8000-000000000000\n");
  EXPECT_STATUS(kNotFound, "another store", storage_->Reopen());
  WriteFile(store_ + "/FORMAT", format);
  ASSERT_OK(storage_->Reopen());
  EXPECT_EQ(Dirty(), "a=1");
}

TEST_F(RocksdbReopen, RefusesWhatIsDamaged) {
  const std::string current = ReadFile(store_ + "/CURRENT");
  ASSERT_EQ(unlink((store_ + "/CURRENT").c_str()), 0);
  EXPECT_STATUS(kCorruption, "CURRENT", storage_->Reopen());
  const std::string before = Fingerprint(store_);
  EXPECT_STATUS(kCorruption, "CURRENT", storage_->Reopen());
  EXPECT_EQ(Fingerprint(store_), before);
  WriteFile(store_ + "/CURRENT", current);
  ASSERT_OK(storage_->Reopen());
  EXPECT_EQ(Dirty(), "a=1");
}

}  // namespace
}  // namespace wq::storage
