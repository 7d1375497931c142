#include "storage/owner.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>

#include "tests/storage/support.h"
#include "tests/support/child.h"

namespace wq::storage {
namespace {

class OwnerLockTest : public ::testing::Test {
 protected:
  Status Acquire() { return OwnerLock::Acquire(dir_ / "", &lock_); }
  OwnerInfo Owner() const { return ReadOwner(dir_ / ""); }

  const TestDirectory dir_;
  const std::string file_ = dir_ / "OWNER";
  std::unique_ptr<OwnerLock> lock_;
};

TEST_F(OwnerLockTest, TellsItsPid) {
  EXPECT_EQ(Owner().pid, 0);
  EXPECT_FALSE(Owner().alive);
  ASSERT_OK(Acquire());
  EXPECT_EQ(Owner().pid, getpid());
  EXPECT_TRUE(Owner().alive);
  EXPECT_EQ(ReadFile(file_), std::to_string(getpid()) + "\n");
  lock_.reset();
  EXPECT_EQ(Owner().pid, getpid()) << "the last owner";
  EXPECT_FALSE(Owner().alive);
}

TEST_F(OwnerLockTest, TellsWhetherItWasClosed) {
  ASSERT_OK(Acquire());
  EXPECT_FALSE(Owner().closed);
  struct stat opened = {};
  ASSERT_EQ(stat(file_.c_str(), &opened), 0);
  lock_->MarkClosed();
  struct stat closed = {};
  ASSERT_EQ(stat(file_.c_str(), &closed), 0);
  EXPECT_EQ(closed.st_mtim.tv_sec, opened.st_mtim.tv_sec);
  EXPECT_EQ(closed.st_mtim.tv_nsec, opened.st_mtim.tv_nsec);
  lock_.reset();
  EXPECT_TRUE(Owner().closed);
  EXPECT_EQ(Owner().pid, getpid());
  ASSERT_OK(Acquire());  // The next owner has not closed it.
  EXPECT_FALSE(Owner().closed);
  std::unique_ptr<Storage> storage;
  ASSERT_OK(OpenNew(dir_ / "s", &storage));
  EXPECT_FALSE(ReadOwner(dir_ / "s").closed);
  storage.reset();  // As a killed owner leaves it: not closed.
  EXPECT_FALSE(ReadOwner(dir_ / "s").closed);
  ASSERT_OK(OpenExisting(dir_ / "s", &storage));
  ASSERT_OK(storage->Close());
  EXPECT_TRUE(ReadOwner(dir_ / "s").closed);
}

TEST_F(OwnerLockTest, IsTakenOnceAlsoWithinAProcess) {
  ASSERT_OK(Acquire());
  std::unique_ptr<OwnerLock> second;
  EXPECT_STATUS(kLocked, "process " + std::to_string(getpid()),
                OwnerLock::Acquire(dir_ / "", &second));
  lock_.reset();
  EXPECT_OK(OwnerLock::Acquire(dir_ / "", &second));
}

TEST_F(OwnerLockTest, CheckSeesThatTheFileIsGoneReplacedOrMovedAway) {
  ASSERT_OK(Acquire());
  EXPECT_OK(lock_->Check());
  ASSERT_EQ(rename(file_.c_str(), (dir_ / "away").c_str()), 0);
  EXPECT_STATUS(kIOError, "OWNER", lock_->Check());
  std::unique_ptr<OwnerLock> second;
  ASSERT_OK(OwnerLock::Acquire(dir_ / "", &second));
  EXPECT_STATUS(kLocked, "OWNER was replaced", lock_->Check());
  EXPECT_OK(second->Check());
  ASSERT_EQ(unlink(file_.c_str()), 0);
  EXPECT_STATUS(kLocked, "OWNER was removed", second->Check());
  WriteFile(file_, "1\n");
  EXPECT_STATUS(kLocked, "OWNER was removed", second->Check());
}

TEST_F(OwnerLockTest, WritesAreCheckedAtOnceAndAgainBeforeLong) {
  ASSERT_OK(Acquire());
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_OK(lock_->CheckBeforeWrite());
  ASSERT_EQ(unlink(file_.c_str()), 0);
  Status status;
  while (status.ok()) status = lock_->CheckBeforeWrite();
  EXPECT_GE(std::chrono::steady_clock::now() - begun,
            std::chrono::nanoseconds(OwnerLock::kTrustedNs));
  EXPECT_STATUS(kLocked, "OWNER", status);
  EXPECT_STATUS(kLocked, "OWNER", lock_->CheckBeforeWrite());  // A failed check is not trusted.
  ASSERT_OK(Acquire());
  ASSERT_EQ(unlink(file_.c_str()), 0);
  EXPECT_STATUS(kLocked, "OWNER", lock_->CheckBeforeWrite());  // The first write is checked.
}

TEST_F(OwnerLockTest, DoesNotFollowASymlink) {
  WriteFile(dir_ / "target", "precious");
  ASSERT_EQ(symlink("target", file_.c_str()), 0);
  EXPECT_STATUS(kIOError, "OWNER", Acquire());
  EXPECT_EQ(ReadFile(dir_ / "target"), "precious");
  EXPECT_EQ(Owner().pid, 0);
}

TEST_F(OwnerLockTest, GarbageIsNoPid) {
  for (const char* text : {"", "x", "-5\n", "99999999999999999999\n"}) {
    WriteFile(file_, text);
    EXPECT_EQ(Owner().pid, 0) << text;
  }
  ASSERT_OK(Acquire());  // Writes less than there was.
  EXPECT_EQ(ReadFile(file_), std::to_string(getpid()) + "\n");
}

// Run by the next test, which kills it.
TEST(OwnerChild, DISABLED_OwnsUntilItIsKilled) {
  std::unique_ptr<Storage> storage;
  ASSERT_OK(OpenNew(std::getenv("WQ_TEST_DIR"), &storage));
  std::cout << "open" << std::endl;
  for (;;) pause();
}

TEST_F(OwnerLockTest, HoldsBetweenProcessesAndEndsWithTheOwner) {
  setenv("WQ_TEST_DIR", (dir_ / "s").c_str(), 1);
  support::Child owner(
      {"/proc/self/exe", "--gtest_also_run_disabled_tests", "--gtest_filter=OwnerChild.*"});
  ASSERT_TRUE(owner.ReadUntil("open\n"));
  std::unique_ptr<Storage> storage;
  EXPECT_STATUS(kLocked, "process " + std::to_string(owner.pid()),
                OpenExisting(dir_ / "s", &storage));
  EXPECT_TRUE(ReadOwner(dir_ / "s").alive);
  // Removing RocksDB's lock file would end its lock; OwnerLock remains.
  ASSERT_EQ(unlink((dir_ / "s/LOCK").c_str()), 0);
  EXPECT_STATUS(kLocked, "process", OpenExisting(dir_ / "s", &storage));
  owner.Signal(SIGKILL);
  owner.Wait();
  EXPECT_FALSE(ReadOwner(dir_ / "s").alive);
  EXPECT_OK(OpenExisting(dir_ / "s", &storage));
}

TEST_F(OwnerLockTest, AnOwnerWhoseFileIsGoneWritesNoMore) {
  std::unique_ptr<Storage> storage;
  ASSERT_OK(OpenNew(dir_ / "s", &storage));
  ASSERT_OK(Put(storage.get(), Family::kDirty, "before", ""));
  ASSERT_EQ(unlink((dir_ / "s/OWNER").c_str()), 0);
  Status failure;  // Within kTrustedNs.
  while (failure.ok()) failure = Put(storage.get(), Family::kDirty, "before", "");
  EXPECT_STATUS(kLocked, "OWNER", failure);
  EXPECT_EQ(Put(storage.get(), Family::kDirty, "after", "").message(), failure.message());
  EXPECT_EQ(storage->Sync().message(), failure.message()) << "the first failure stays";
  EXPECT_EQ(storage->Close().message(), failure.message());
  storage.reset();
  ASSERT_OK(OpenExisting(dir_ / "s", &storage));
  EXPECT_EQ(Contents(*storage, Family::kDirty), "before=");
}

}  // namespace
}  // namespace wq::storage
