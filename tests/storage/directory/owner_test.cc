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

TEST(OwnerLock, TellsItsPid) {
  const TestDirectory dir;
  EXPECT_EQ(ReadOwner(dir / "").pid, 0);
  EXPECT_FALSE(ReadOwner(dir / "").alive);
  std::unique_ptr<OwnerLock> lock;
  ASSERT_OK(OwnerLock::Acquire(dir / "", &lock));
  EXPECT_EQ(ReadOwner(dir / "").pid, getpid());
  EXPECT_TRUE(ReadOwner(dir / "").alive);
  EXPECT_EQ(ReadFile(dir / "OWNER"), std::to_string(getpid()) + "\n");
  lock.reset();
  EXPECT_EQ(ReadOwner(dir / "").pid, getpid()) << "the last owner";
  EXPECT_FALSE(ReadOwner(dir / "").alive);
}

TEST(OwnerLock, TellsWhetherItWasClosed) {
  const TestDirectory dir;
  std::unique_ptr<OwnerLock> lock;
  ASSERT_OK(OwnerLock::Acquire(dir / "", &lock));
  EXPECT_FALSE(ReadOwner(dir / "").closed);
  struct stat opened = {};
  ASSERT_EQ(stat((dir / "OWNER").c_str(), &opened), 0);
  lock->MarkClosed();
  struct stat closed = {};
  ASSERT_EQ(stat((dir / "OWNER").c_str(), &closed), 0);
  EXPECT_EQ(closed.st_mtim.tv_sec, opened.st_mtim.tv_sec);
  EXPECT_EQ(closed.st_mtim.tv_nsec, opened.st_mtim.tv_nsec);
  lock.reset();
  EXPECT_TRUE(ReadOwner(dir / "").closed);
  EXPECT_EQ(ReadOwner(dir / "").pid, getpid());
  ASSERT_OK(OwnerLock::Acquire(dir / "", &lock));  // The next owner has not closed it.
  EXPECT_FALSE(ReadOwner(dir / "").closed);
  std::unique_ptr<Storage> storage;
  ASSERT_OK(OpenNew(dir / "s", &storage));
  EXPECT_FALSE(ReadOwner(dir / "s").closed);
  storage.reset();  // As a killed owner leaves it: not closed.
  EXPECT_FALSE(ReadOwner(dir / "s").closed);
  ASSERT_OK(OpenExisting(dir / "s", &storage));
  ASSERT_OK(storage->Close());
  EXPECT_TRUE(ReadOwner(dir / "s").closed);
}

TEST(OwnerLock, IsTakenOnceAlsoWithinAProcess) {
  const TestDirectory dir;
  std::unique_ptr<OwnerLock> lock;
  ASSERT_OK(OwnerLock::Acquire(dir / "", &lock));
  std::unique_ptr<OwnerLock> second;
  EXPECT_STATUS(kLocked, "process " + std::to_string(getpid()),
                OwnerLock::Acquire(dir / "", &second));
  lock.reset();
  EXPECT_OK(OwnerLock::Acquire(dir / "", &second));
}

TEST(OwnerLock, CheckSeesThatTheFileIsGoneReplacedOrMovedAway) {
  const TestDirectory dir;
  const std::string file = dir / "OWNER";
  std::unique_ptr<OwnerLock> lock;
  ASSERT_OK(OwnerLock::Acquire(dir / "", &lock));
  EXPECT_OK(lock->Check());
  ASSERT_EQ(rename(file.c_str(), (dir / "away").c_str()), 0);
  EXPECT_STATUS(kIOError, "OWNER", lock->Check());
  std::unique_ptr<OwnerLock> second;
  ASSERT_OK(OwnerLock::Acquire(dir / "", &second));
  EXPECT_STATUS(kLocked, "OWNER was replaced", lock->Check());
  EXPECT_OK(second->Check());
  ASSERT_EQ(unlink(file.c_str()), 0);
  EXPECT_STATUS(kLocked, "OWNER was removed", second->Check());
  WriteFile(file, "1\n");
  EXPECT_STATUS(kLocked, "OWNER was removed", second->Check());
}

TEST(OwnerLock, WritesAreCheckedAtOnceAndAgainBeforeLong) {
  const TestDirectory dir;
  std::unique_ptr<OwnerLock> lock;
  ASSERT_OK(OwnerLock::Acquire(dir / "", &lock));
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_OK(lock->CheckBeforeWrite());
  ASSERT_EQ(unlink((dir / "OWNER").c_str()), 0);
  Status status;
  while (status.ok()) status = lock->CheckBeforeWrite();
  EXPECT_GE(std::chrono::steady_clock::now() - begun,
            std::chrono::nanoseconds(OwnerLock::kTrustedNs));
  EXPECT_STATUS(kLocked, "OWNER", status);
  EXPECT_STATUS(kLocked, "OWNER", lock->CheckBeforeWrite());  // A failed check is not trusted.
}

TEST(OwnerLock, TheFirstWriteIsChecked) {
  const TestDirectory dir;
  std::unique_ptr<OwnerLock> lock;
  ASSERT_OK(OwnerLock::Acquire(dir / "", &lock));
  ASSERT_EQ(unlink((dir / "OWNER").c_str()), 0);
  EXPECT_STATUS(kLocked, "OWNER", lock->CheckBeforeWrite());
}

TEST(OwnerLock, DoesNotFollowASymlink) {
  const TestDirectory dir;
  WriteFile(dir / "target", "precious");
  ASSERT_EQ(symlink("target", (dir / "OWNER").c_str()), 0);
  std::unique_ptr<OwnerLock> lock;
  EXPECT_STATUS(kIOError, "OWNER", OwnerLock::Acquire(dir / "", &lock));
  EXPECT_EQ(ReadFile(dir / "target"), "precious");
  EXPECT_EQ(ReadOwner(dir / "").pid, 0);
}

TEST(OwnerLock, GarbageIsNoPid) {
  const TestDirectory dir;
  for (const char* text : {"", "x", "-5\n", "99999999999999999999\n"}) {
    WriteFile(dir / "OWNER", text);
    EXPECT_EQ(ReadOwner(dir / "").pid, 0) << text;
  }
  std::unique_ptr<OwnerLock> lock;
  ASSERT_OK(OwnerLock::Acquire(dir / "", &lock));  // Writes less than there was.
  EXPECT_EQ(ReadFile(dir / "OWNER"), std::to_string(getpid()) + "\n");
}

// Run by the next test, which kills it.
TEST(OwnerChild, DISABLED_OwnsUntilItIsKilled) {
  std::unique_ptr<Storage> storage;
  ASSERT_OK(OpenNew(std::getenv("WQ_TEST_DIR"), &storage));
  std::cout << "open" << std::endl;
  for (;;) pause();
}

TEST(OwnerLock, HoldsBetweenProcessesAndEndsWithTheOwner) {
  const TestDirectory dir;
  setenv("WQ_TEST_DIR", (dir / "s").c_str(), 1);
  support::Child owner(
      {"/proc/self/exe", "--gtest_also_run_disabled_tests", "--gtest_filter=OwnerChild.*"});
  ASSERT_TRUE(owner.ReadUntil("open\n"));
  std::unique_ptr<Storage> storage;
  EXPECT_STATUS(kLocked, "process " + std::to_string(owner.pid()),
                OpenExisting(dir / "s", &storage));
  EXPECT_TRUE(ReadOwner(dir / "s").alive);
  // Removing RocksDB's lock file would end its lock; OwnerLock remains.
  ASSERT_EQ(unlink((dir / "s/LOCK").c_str()), 0);
  EXPECT_STATUS(kLocked, "process", OpenExisting(dir / "s", &storage));
  owner.Signal(SIGKILL);
  owner.Wait();
  EXPECT_FALSE(ReadOwner(dir / "s").alive);
  EXPECT_OK(OpenExisting(dir / "s", &storage));
}

TEST(OwnerLock, AnOwnerWhoseFileIsGoneWritesNoMore) {
  const TestDirectory dir;
  std::unique_ptr<Storage> storage;
  ASSERT_OK(OpenNew(dir / "s", &storage));
  ASSERT_OK(Put(storage.get(), Family::kDirty, "before", ""));
  ASSERT_EQ(unlink((dir / "s/OWNER").c_str()), 0);
  Status failure;  // Within kTrustedNs.
  while (failure.ok()) failure = Put(storage.get(), Family::kDirty, "before", "");
  EXPECT_STATUS(kLocked, "OWNER", failure);
  EXPECT_EQ(Put(storage.get(), Family::kDirty, "after", "").message(), failure.message());
  EXPECT_EQ(storage->Sync().message(), failure.message()) << "the first failure stays";
  EXPECT_EQ(storage->Close().message(), failure.message());
  storage.reset();
  ASSERT_OK(OpenExisting(dir / "s", &storage));
  EXPECT_EQ(Contents(*storage, Family::kDirty), "before=");
}

}  // namespace
}  // namespace wq::storage
