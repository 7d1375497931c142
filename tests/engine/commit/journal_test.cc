#include "engine/commit/journal.h"

#include <atomic>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/boot_id.h"
#include "storage/process_log.h"
#include "storage/records.h"
#include "storage/row.h"
#include "tests/support/environment.h"
#include "tests/support/memory_storage.h"

namespace wq {
namespace {

using storage::Family;
using storage::MutationBatch;

storage::MutationBatch Put(const std::string& key) {
  MutationBatch batch;
  batch.Put(Family::kDirty, key, "v");
  return batch;
}

MutationBatch Erase(const std::string& key) {
  MutationBatch batch;
  batch.Erase(Family::kDirty, key);
  return batch;
}

// A Wait in another thread.
std::future<Status> WaitInBackground(Journal* journal, Position position, Durability durability) {
  return std::async(std::launch::async, [=] { return journal->Wait(position, durability); });
}

// A storage whose writes wait until a test opens its gate, so the test decides what happens
// during a write.
class GatedStorage final : public storage::Storage {
 public:
  Status Get(Family, std::string_view, std::string*) const override { return Status::NotFound(""); }
  Status Scan(Family, std::string_view, std::string_view, const Visitor&) const override {
    return {};
  }
  Status Write(MutationBatch& batch, bool sync) override {
    storage::ProcessLogRecord record;
    batch.ForEach([&record](const storage::Mutation& mutation) {
      if (mutation.key == "process-log") {
        storage::Row row;
        EXPECT_TRUE(row.Decode(mutation.family, mutation.key, mutation.value).ok());
        record = *row.As<storage::ProcessLogRecord>();
      }
    });
    {
      const std::lock_guard lock(mu_);
      positions_.push_back(record.position);
    }
    return Record({batch.count(), sync});
  }
  Status Sync() override { return Record({0, true}); }
  Status Reopen() override { return {}; }
  Status Close() override { return {}; }
  storage::ProcessLog* process_log() override { return log_.get(); }

  // Before the journal is made.
  void MakeLog(uint64_t capacity) {
    ASSERT_TRUE(
        storage::ProcessLog::Create(
            dir_.path(),
            {.store_uuid = "a store", .boot_id = BootId(), .number = 1, .capacity = capacity},
            &log_)
            .ok());
  }

  struct Call {
    size_t mutations;
    bool sync;
    bool operator==(const Call&) const = default;
  };

  void Shut() {
    const std::lock_guard lock(mu_);
    open_ = false;
  }
  void Open() {
    const std::lock_guard lock(mu_);
    open_ = true;
    cv_.notify_all();
  }
  void AwaitCalls(size_t n) {
    std::unique_lock lock(mu_);
    cv_.wait(lock, [&] { return calls_.size() >= n; });
  }
  std::vector<Call> calls() {
    const std::lock_guard lock(mu_);
    return calls_;
  }
  // Of each write: how far it comes in the process log; 0: it does not say.
  std::vector<storage::LogPosition> positions() {
    const std::lock_guard lock(mu_);
    return positions_;
  }
  void FailNext(Status status) {
    const std::lock_guard lock(mu_);
    fail_ = std::move(status);
  }

 private:
  Status Record(Call call) {
    std::unique_lock lock(mu_);
    calls_.push_back(call);
    cv_.notify_all();
    cv_.wait(lock, [&] { return open_; });
    return fail_;
  }

  support::ScratchDirectory dir_;
  std::unique_ptr<storage::ProcessLog> log_;
  std::mutex mu_;
  std::condition_variable cv_;
  bool open_ = true;
  Status fail_;
  std::vector<Call> calls_;
  std::vector<storage::LogPosition> positions_;
};

// With these options the background thread writes no lazy appends.
const Journal::Options kPatient = {.flush_interval = std::chrono::hours(1)};

TEST(Journal, MuchThatIsOpenIsWrittenBeforeTheInterval) {
  GatedStorage storage;
  Journal journal(&storage, {.flush_interval = std::chrono::hours(1), .max_batch_bytes = 1024});
  const Position p = journal.Append(Put(std::string(200, 'x')), Durability::kAsync);
  EXPECT_TRUE(journal.Wait(p, Durability::kAsync).ok());
  storage.AwaitCalls(1);
}

TEST(Journal, AWriterThatDozesAfterAWriteWritesWhatIsAppendedDuringIt) {
  GatedStorage storage;
  Journal journal(&storage, {.flush_interval = std::chrono::milliseconds(1)});
  for (size_t round = 1; round <= 200; ++round) {
    journal.Append(Put("a"), Durability::kAsync);
    journal.WakeWriter();
    storage.AwaitCalls(round);
  }
}

TEST(Journal, OneWriteServesAllThatWaitedForTheOneBefore) {
  GatedStorage storage;
  Journal journal(&storage, kPatient);
  storage.Shut();
  const auto add = [&journal](const char* key) {
    const Position p = journal.Append(Put(key), Durability::kProcess);
    return WaitInBackground(&journal, p, Durability::kPower);
  };
  std::vector<std::future<Status>> waits;
  waits.push_back(add("first"));
  storage.AwaitCalls(1);  // The write of `first` is under way.
  for (const char* key : {"b", "c", "d", "e"}) {
    waits.push_back(add(key));
  }
  storage.Open();
  for (auto& wait : waits) {
    EXPECT_TRUE(wait.get().ok());
  }
  EXPECT_EQ(storage.calls(), (std::vector<GatedStorage::Call>{{1, true}, {4, true}}));
}

// --- With a process log. Each write has one more mutation: how far it comes in the log. ---

TEST(Journal, ABatchInTheProcessLogIsNotWaitedForAtProcess) {
  GatedStorage storage;
  storage.MakeLog(4096);
  Journal journal(&storage, kPatient);
  const Position p = journal.Append(Put("a"), Durability::kProcess);
  EXPECT_TRUE(journal.Wait(p, Durability::kProcess).ok());
  EXPECT_TRUE(storage.calls().empty());
  EXPECT_TRUE(journal.Wait(p, Durability::kPower).ok());
  EXPECT_EQ(storage.calls(), (std::vector<GatedStorage::Call>{{2, true}}));
  EXPECT_EQ(storage.process_log()->Used(), 0U);
}

TEST(Journal, ABatchThatDoesNotFitTheProcessLogIsWrittenWithTheLaterOnes) {
  GatedStorage storage;
  storage.MakeLog(4096);
  Journal journal(&storage, kPatient);
  journal.Append(Put("a"), Durability::kProcess);
  const Position large = journal.Append(Put(std::string(3000, 'k')), Durability::kProcess);
  const Position later = journal.Append(Put("b"), Durability::kProcess);
  const storage::LogPosition end = storage.process_log()->end();
  EXPECT_TRUE(journal.Wait(large, Durability::kProcess).ok());
  EXPECT_EQ(storage.calls(), (std::vector<GatedStorage::Call>{{4, false}}));
  EXPECT_EQ(storage.process_log()->end(), end);  // "b" would have been behind a gap.
  EXPECT_TRUE(journal.Wait(later, Durability::kProcess).ok());
  EXPECT_EQ(storage.calls().size(), 1U);
}

TEST(Journal, WhatWasAppendedDuringAWriteOfALargeBatchGoesToTheProcessLogAfterIt) {
  GatedStorage storage;
  storage.MakeLog(4096);
  Journal journal(&storage, kPatient);
  storage.Shut();
  const Position large = journal.Append(Put(std::string(3000, 'k')), Durability::kProcess);
  std::future<Status> waiting = WaitInBackground(&journal, large, Durability::kProcess);
  storage.AwaitCalls(1);
  const Position during = journal.Append(Put("a"), Durability::kProcess);
  EXPECT_EQ(storage.process_log()->end(), 0U);
  storage.Open();
  EXPECT_TRUE(waiting.get().ok());
  EXPECT_TRUE(journal.Wait(during, Durability::kProcess).ok());  // Without a write of its own.
  EXPECT_EQ(storage.calls().size(), 1U);
  EXPECT_GT(storage.process_log()->end(), 0U);
}

TEST(Journal, AFullProcessLogDelaysNoCallOfAFailedStore) {
  GatedStorage storage;
  storage.MakeLog(4096);
  Journal journal(&storage, kPatient);
  while (storage.process_log()->Used() <= 3 * storage.process_log()->capacity() / 4) {
    journal.Append(Put("a"), Durability::kAsync);
  }
  storage.FailNext(Status::IOError("the disk is gone"));
  EXPECT_EQ(journal.Flush(Durability::kPower).code(), StatusCode::kNotDurable);
  journal.BeginImage();
  const Position p = journal.Append(Put("b"), Durability::kAsync);
  EXPECT_EQ(journal.Wait(p, Durability::kAsync).code(), StatusCode::kNotDurable);
  journal.DropImage();
}

TEST(Journal, ARowThatIsBeingWrittenIsErasedByTheNextWrite) {
  GatedStorage storage;
  Journal journal(&storage, kPatient);
  storage.Shut();
  const Position put = journal.Append(Put("a"), Durability::kProcess, {.is_new = true});
  auto wait = WaitInBackground(&journal, put, Durability::kProcess);
  storage.AwaitCalls(1);
  EXPECT_GT(journal.Append(Erase("a"), Durability::kAsync, {.put_at = put}), put);
  storage.Open();
  EXPECT_TRUE(wait.get().ok());
  EXPECT_TRUE(journal.Flush(Durability::kProcess).ok());
  EXPECT_EQ(storage.calls(), (std::vector<GatedStorage::Call>{{1, false}, {1, false}}));
}

TEST(Journal, AnOwnershipThatEndsBeforeARecoveryHasReturnedIsNotRecovered) {
  GatedStorage storage;
  std::unique_ptr<Journal> journal;
  std::atomic<int> recoveries{0};
  std::promise<void> ended;
  std::promise<void> again;
  Journal::Options options = kPatient;
  options.recover = [&] {
    if (++recoveries > 1) {
      again.set_value();
      return false;
    }
    storage.FailNext(Status::Ok());
    journal->BeginImage();
    MutationBatch image;
    EXPECT_TRUE(journal->WriteImage(&image).ok());
    storage.FailNext(Status::NotOwner("another process has the store"));
    const Position p = journal->Append(Put("b"), Durability::kProcess);
    EXPECT_EQ(journal->Wait(p, Durability::kProcess).code(), StatusCode::kNotOwner);
    ended.set_value();
    return true;
  };
  journal = std::make_unique<Journal>(&storage, options);
  storage.FailNext(Status::IOError("no space left"));
  const Position p = journal->Append(Put("a"), Durability::kProcess);
  EXPECT_EQ(journal->Wait(p, Durability::kProcess).code(), StatusCode::kNotDurable);
  ended.get_future().wait();
  EXPECT_EQ(again.get_future().wait_for(std::chrono::milliseconds(100)),
            std::future_status::timeout);
  EXPECT_EQ(journal->Stop().code(), StatusCode::kNotOwner);
  EXPECT_EQ(recoveries, 1);
}

// A wait without end is no time in the past, at which the background thread would write at once.
TEST(Journal, ALazyAppendWaitsForTheLongestInterval) {
  GatedStorage storage;
  Journal journal(&storage, {.flush_interval = std::chrono::milliseconds::max()});
  journal.Append(Put("lazy"), Durability::kAsync);
  journal.WakeWriter();
  const auto written = std::async(std::launch::async, [&storage] { storage.AwaitCalls(1); });
  EXPECT_EQ(written.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  EXPECT_TRUE(journal.Stop().ok());
  EXPECT_EQ(storage.calls().size(), 1U);
}

TEST(Journal, AFullPipelineMakesAsynchronousCallsWait) {
  GatedStorage storage;
  Journal journal(&storage, {.flush_interval = std::chrono::hours(1), .max_batch_bytes = 64});
  storage.Shut();
  journal.Append(Put("the first"), Durability::kAsync);  // More than an eighth of 64 bytes.
  journal.WakeWriter();
  storage.AwaitCalls(1);
  const Position p = journal.Append(Put(std::string(100, 'x')), Durability::kAsync);
  auto wait = WaitInBackground(&journal, p, Durability::kAsync);
  EXPECT_EQ(wait.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  storage.Open();
  EXPECT_TRUE(wait.get().ok());
  EXPECT_GE(storage.calls().size(), 2U);
}

TEST(Journal, StopWritesAndSyncsWhatIsOpen) {
  GatedStorage storage;
  Journal journal(&storage, kPatient);
  journal.Append(Put("a"), Durability::kAsync);
  journal.WakeWriter();
  EXPECT_TRUE(journal.Stop().ok());
  ASSERT_FALSE(storage.calls().empty());
  EXPECT_TRUE(storage.calls().back().sync);
}

// The background thread writes nothing here: a follower that is not woken never returns.
TEST(Journal, EveryFollowerIsWokenWithManyThreadsAndAFullPipeline) {
  auto disk = std::make_shared<storage::MemoryDisk>();
  storage::MemoryStorage storage(disk);
  Journal journal(&storage, {.flush_interval = std::chrono::hours(1), .max_batch_bytes = 64});
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        const MutationBatch batch = Put(std::to_string(t) + std::string(30, 'x'));
        const Position p = journal.Append(batch, Durability::kProcess);
        ASSERT_TRUE(journal.Wait(p, static_cast<Durability>((i + t) % 3)).ok());
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_TRUE(journal.Stop().ok());
}

// A kill during the write needs what is in the log: its space must not be used for later records.
TEST(Journal, SpaceIsReleasedWhenTheWriteHasEndedAndNotBefore) {
  GatedStorage storage;
  storage.MakeLog(4096);
  storage.Shut();
  Journal journal(&storage, {.flush_interval = std::chrono::hours(1)});
  Position position = 0;
  // The last of these fills a half, so that the background thread writes.
  while (storage.process_log()->end() <= 2048) {
    position = journal.Append(Put("key"), Durability::kProcess);
    ASSERT_TRUE(journal.Wait(position, Durability::kProcess).ok());
  }
  const storage::LogPosition end = storage.process_log()->end();
  storage.AwaitCalls(1);
  EXPECT_EQ(storage.process_log()->Used(), end);
  storage.Open();
  EXPECT_TRUE(journal.Flush(Durability::kPower).ok());
  EXPECT_EQ(storage.process_log()->Used(), 0U);
  EXPECT_EQ(storage.positions().front(), end);
}

// A put and its erase that cancel each other are in the log, and no call has to write anything for
// them. But a log that is in the database up to its end is removed when the store is closed.
TEST(Journal, AfterStopTheDatabaseReachesTheEndOfTheLog) {
  GatedStorage storage;
  storage.MakeLog(4096);
  Journal journal(&storage, {.flush_interval = std::chrono::hours(1)});
  const Position put = journal.Append(Put("a"), Durability::kAsync, {.is_new = true});
  journal.Append(Erase("a"), Durability::kAsync, {.put_at = put});
  EXPECT_GT(storage.process_log()->Used(), 0U);
  EXPECT_TRUE(journal.Stop().ok());
  EXPECT_EQ(storage.process_log()->Used(), 0U);
  EXPECT_EQ(storage.positions(), std::vector<storage::LogPosition>{storage.process_log()->end()});
}

}  // namespace
}  // namespace wq
