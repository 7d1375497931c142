// ReplicatedStorage: what a Write promises while the log fails, answers late, or has another owner.
#include "storage/replicated_storage.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "tests/storage/replication/replica_fixture.h"

namespace wq::storage {
namespace {

using namespace std::chrono_literals;

using ReplicatedStorageTest = ReplicaFixture;

TEST_F(ReplicatedStorageTest, ALogThatDoesNotAnswerIsAskedAgain) {
  const auto owner = Own(&copy_, 60'000ms);
  std::atomic<int> appends{0};
  link_->SetHook([&](std::string_view call) {
    if (call != "Append") return FaultyLog::Fault::kNone;
    return ++appends < 3 ? FaultyLog::Fault::kAfter : FaultyLog::Fault::kNone;
  });
  ASSERT_OK(Put(owner.get(), Family::kCursors, "c", "1"));
  EXPECT_EQ(appends, 3);
  EXPECT_EQ(State().last, 2U);  // Once.
}

TEST_F(ReplicatedStorageTest, ALogThatDoesNotAnswerUntilWriteTimeoutIsAnError) {
  const auto owner = Own(&copy_, 60ms);
  ASSERT_OK(Put(owner.get(), Family::kCursors, "c", "1"));
  link_->SetHook([](std::string_view) { return FaultyLog::Fault::kBefore; });
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_STATUS(kIOError, "memory", Put(owner.get(), Family::kCursors, "c", "2"));
  EXPECT_GE(std::chrono::steady_clock::now() - begun, 60ms);
  EXPECT_EQ(Contents(base_, Family::kCursors), "c=1");
  link_->SetHook([](std::string_view) { return FaultyLog::Fault::kNone; });
  EXPECT_STATUS(kIOError, "memory", Put(owner.get(), Family::kCursors, "c", "3"));
  EXPECT_STATUS(kIOError, "memory", owner->Sync());

  ASSERT_OK(owner->Reopen());  // Completes the one of unknown outcome.
  EXPECT_EQ(Contents(base_, Family::kCursors), "c=2");
  ASSERT_OK(Put(owner.get(), Family::kCursors, "c", "4"));
  EXPECT_EQ(State().last, 4U);
}

TEST_F(ReplicatedStorageTest, CutInterruptsAWriteThatWaitsForTheLog) {
  const auto owner = Own(&copy_, 60'000ms);
  Mutex mu;
  CondVar cv;
  bool waits = false;
  link_->SetHook([&](std::string_view) {
    const MutexLock lock(mu);
    waits = true;
    cv.NotifyAll();
    return FaultyLog::Fault::kBefore;
  });
  Status written;
  std::thread writer([&] { written = Put(owner.get(), Family::kCursors, "c", "1"); });
  {
    const MutexLock lock(mu);
    while (!waits) cv.Wait(mu);
  }
  owner->Cut(Status::NotOwner("the first reason"));
  owner->Cut(Status::NotOwner("another"));
  writer.join();
  EXPECT_STATUS(kNotOwner, "the first reason", written);
  EXPECT_STATUS(kNotOwner, "the first reason", Put(owner.get(), Family::kCursors, "c", "2"));
  EXPECT_STATUS(kNotOwner, "the first reason", owner->Sync());
  EXPECT_STATUS(kNotOwner, "the first reason", owner->Reopen());
  LogCheckpoint made;
  EXPECT_STATUS(kNotOwner, "the first reason", owner->WriteCheckpoint(7, &made));
}

TEST_F(ReplicatedStorageTest, AnotherEntryInItsPlaceIsCorruption) {
  const auto owner = Own(&copy_);
  ASSERT_OK(log_->Append(State().owner.epoch, 2, "not ours"));
  EXPECT_STATUS(kCorruption, "entry 2", Put(owner.get(), Family::kCursors, "c", "1"));
}

TEST_F(ReplicatedStorageTest, SyncIsThatOfTheCopy) {
  const auto owner = Own(&copy_);
  const auto syncs = [this] {
    const MutexLock lock(disk_->mu);
    return disk_->state.syncs;
  };
  const uint64_t before = syncs();
  ASSERT_OK(Put(owner.get(), Family::kCursors, "c", "1"));
  EXPECT_EQ(syncs(), before);
  ASSERT_OK(owner->Sync());
  EXPECT_EQ(syncs(), before + 1);
}

TEST_F(ReplicatedStorageTest, AReopenWaitsForACheckpointThatIsBeingWritten) {
  const auto owner = Own(&copy_);
  ASSERT_OK(Put(owner.get(), Family::kCursors, "c", std::string(3 * kMaxLogEntryBytes, 'x')));
  Mutex mu;
  CondVar cv;
  bool inside = false;
  bool let_go = false;
  std::string calls;
  link_->SetHook([&](std::string_view call) {
    const MutexLock lock(mu);
    calls += std::string(call) + " ";
    if (call == "Append") return FaultyLog::Fault::kBefore;
    if (call != "PutCheckpointPart") return FaultyLog::Fault::kNone;
    inside = true;
    cv.NotifyAll();
    while (!let_go) cv.Wait(mu);
    return FaultyLog::Fault::kNone;
  });
  std::thread writer([&] {
    LogCheckpoint made;
    const Status s = owner->WriteCheckpoint(7, &made);
    EXPECT_TRUE(s.ok() || s.code() == StatusCode::kShuttingDown) << s.message();
  });
  {
    const MutexLock lock(mu);
    while (!inside) cv.Wait(mu);
  }
  EXPECT_FALSE(Put(owner.get(), Family::kDirty, "k", "1").ok());
  std::thread reopener([&] { static_cast<void>(owner->Reopen()); });  // The log takes nothing yet.
  {
    const MutexLock lock(mu);
    let_go = true;
    cv.NotifyAll();
  }
  reopener.join();
  writer.join();
  const size_t read = calls.find("Read ");  // By Reopen.
  ASSERT_NE(read, std::string::npos) << calls;
  EXPECT_EQ(calls.find("Checkpoint", read), std::string::npos) << calls;
  link_->SetHook([](std::string_view) { return FaultyLog::Fault::kNone; });
  ASSERT_OK(owner->Reopen());
  LogCheckpoint made;
  ASSERT_OK(owner->WriteCheckpoint(7, &made));
  EXPECT_EQ(made.sequence, owner->sequence());
  EXPECT_EQ(Contents(base_, Family::kDirty), "k=1");
}

TEST_F(ReplicatedStorageTest, AFailedStoreWritesNoCheckpoint) {
  const auto owner = Own(&copy_);
  link_->FailNext(1, FaultyLog::Fault::kBefore);
  EXPECT_FALSE(Put(owner.get(), Family::kCursors, "c", "1").ok());
  LogCheckpoint made;
  EXPECT_STATUS(kNotDurable, "failed", owner->WriteCheckpoint(7, &made));
}

}  // namespace
}  // namespace wq::storage
