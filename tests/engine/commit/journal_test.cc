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

#include "storage/memory_storage.h"

namespace wq {
namespace {

using storage::Family;
using storage::MutationBatch;

storage::MutationBatch Put(const std::string& key) {
  MutationBatch batch;
  batch.Put(Family::kDirty, key, "v");
  return batch;
}

// A storage whose writes wait until a test opens its gate, so the test decides what happens
// during a write.
class GatedStorage final : public storage::Storage {
 public:
  Status Get(Family, std::string_view, std::string*) const override { return Status::NotFound(""); }
  Status Scan(Family, std::string_view, std::string_view, const Visitor&) const override {
    return {};
  }
  Status Write(MutationBatch& batch, bool sync) override { return Record({batch.count(), sync}); }
  Status Sync() override { return Record({0, true}); }
  Status Reopen() override { return {}; }
  Status Close() override { return {}; }

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

  std::mutex mu_;
  std::condition_variable cv_;
  bool open_ = true;
  Status fail_;
  std::vector<Call> calls_;
};

// With these options the background thread writes no lazy appends.
const Journal::Options kPatient = {.flush_interval = std::chrono::hours(1)};

TEST(Journal, ALoneWaiterWritesItsOwnBatch) {
  GatedStorage storage;
  Journal journal(&storage, kPatient);
  const Position p = journal.Append(Put("a"), Journal::Urgency::kWaited);
  EXPECT_EQ(p, 1U);
  EXPECT_TRUE(storage.calls().empty());
  EXPECT_TRUE(journal.Wait(p, Durability::kProcess).ok());
  EXPECT_EQ(storage.calls(), (std::vector<GatedStorage::Call>{{1, false}}));
}

TEST(Journal, AWaitForAWrittenPositionWritesNothing) {
  GatedStorage storage;
  Journal journal(&storage, kPatient);
  const Position p = journal.Append(Put("a"), Journal::Urgency::kWaited);
  ASSERT_TRUE(journal.Wait(p, Durability::kProcess).ok());
  ASSERT_TRUE(journal.Wait(p, Durability::kProcess).ok());
  ASSERT_TRUE(journal.Wait(0, Durability::kPower).ok());
  EXPECT_EQ(storage.calls().size(), 1U);
}

TEST(Journal, PowerSyncsWhatAnEarlierCallOnlyWrote) {
  GatedStorage storage;
  Journal journal(&storage, kPatient);
  const Position p = journal.Append(Put("a"), Journal::Urgency::kWaited);
  ASSERT_TRUE(journal.Wait(p, Durability::kProcess).ok());
  ASSERT_TRUE(journal.Wait(p, Durability::kPower).ok());
  EXPECT_EQ(storage.calls(), (std::vector<GatedStorage::Call>{{1, false}, {0, true}}));
}

TEST(Journal, LazyAppendsAreInTheNextWrite) {
  GatedStorage storage;
  Journal journal(&storage, kPatient);
  journal.Append(Put("a"), Journal::Urgency::kLazy);
  journal.Append(Put("b"), Journal::Urgency::kLazy);
  journal.WakeWriter();
  const Position p = journal.Append(Put("c"), Journal::Urgency::kWaited);
  ASSERT_TRUE(journal.Wait(p, Durability::kPower).ok());
  EXPECT_EQ(storage.calls(), (std::vector<GatedStorage::Call>{{3, true}}));
}

TEST(Journal, LazyAppendsAreWrittenAfterTheInterval) {
  GatedStorage storage;
  Journal journal(&storage, {.flush_interval = std::chrono::milliseconds(1)});
  journal.Append(Put("a"), Journal::Urgency::kLazy);
  journal.WakeWriter();
  storage.AwaitCalls(1);
}

TEST(Journal, UrgentAppendsAreWrittenWithoutAWaiter) {
  GatedStorage storage;
  Journal journal(&storage, kPatient);
  const Position p = journal.Append(Put("a"), Journal::Urgency::kUrgent);
  EXPECT_TRUE(journal.Wait(p, Durability::kAsync).ok());
  storage.AwaitCalls(1);
}

TEST(Journal, OneWriteServesAllThatWaitedForTheOneBefore) {
  GatedStorage storage;
  Journal journal(&storage, kPatient);
  storage.Shut();
  const auto add = [&journal](const char* key) {
    const Position p = journal.Append(Put(key), Journal::Urgency::kWaited);
    return std::async(std::launch::async,
                      [&journal, p] { return journal.Wait(p, Durability::kPower); });
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

storage::MutationBatch Erase(const std::string& key) {
  MutationBatch batch;
  batch.Erase(Family::kDirty, key);
  return batch;
}

TEST(Journal, ARowThatIsPutAndErasedBetweenTwoWritesIsWaitedForButNotWritten) {
  GatedStorage storage;
  Journal journal(&storage, kPatient);
  const Position put = journal.Append(Put("a"), Journal::Urgency::kWaited, {.is_new = true});
  const Position end = journal.Append(Erase("a"), Journal::Urgency::kLazy, {.put_at = put});
  EXPECT_EQ(end, put);
  EXPECT_TRUE(journal.Wait(put, Durability::kProcess).ok());
  EXPECT_TRUE(storage.calls().empty());
  EXPECT_GT(journal.Append(Put("b"), Journal::Urgency::kLazy), end);
  EXPECT_TRUE(journal.Flush(Durability::kProcess).ok());
  EXPECT_EQ(storage.calls(), (std::vector<GatedStorage::Call>{{1, false}}));
}

TEST(Journal, ARowThatIsBeingWrittenIsErasedByTheNextWrite) {
  GatedStorage storage;
  Journal journal(&storage, kPatient);
  storage.Shut();
  const Position put = journal.Append(Put("a"), Journal::Urgency::kWaited, {.is_new = true});
  auto wait = std::async(std::launch::async,
                         [&journal, put] { return journal.Wait(put, Durability::kProcess); });
  storage.AwaitCalls(1);
  EXPECT_GT(journal.Append(Erase("a"), Journal::Urgency::kLazy, {.put_at = put}), put);
  storage.Open();
  EXPECT_TRUE(wait.get().ok());
  EXPECT_TRUE(journal.Flush(Durability::kProcess).ok());
  EXPECT_EQ(storage.calls(), (std::vector<GatedStorage::Call>{{1, false}, {1, false}}));
}

TEST(Journal, AfterAFailedWriteEveryWaitReportsItAndNothingIsWritten) {
  GatedStorage storage;
  Journal journal(&storage, kPatient);
  const Position good = journal.Append(Put("a"), Journal::Urgency::kWaited);
  ASSERT_TRUE(journal.Wait(good, Durability::kProcess).ok());
  storage.FailNext(Status::IOError("no space left"));
  const Position bad = journal.Append(Put("b"), Journal::Urgency::kWaited);
  const Status s = journal.Wait(bad, Durability::kProcess);
  EXPECT_EQ(s.code(), StatusCode::kNotDurable);
  EXPECT_EQ(s.message(), "no space left");
  storage.FailNext(Status::Ok());
  EXPECT_TRUE(journal.Wait(good, Durability::kProcess).ok());
  const Position later = journal.Append(Put("c"), Journal::Urgency::kUrgent);
  EXPECT_EQ(journal.Wait(later, Durability::kAsync).code(), StatusCode::kNotDurable);
  EXPECT_EQ(journal.Wait(good, Durability::kPower).code(), StatusCode::kNotDurable);
  EXPECT_EQ(journal.Flush(Durability::kProcess).code(), StatusCode::kNotDurable);
  EXPECT_EQ(journal.Health().code(), StatusCode::kNotDurable);
  EXPECT_EQ(journal.Stop().code(), StatusCode::kNotDurable);
  EXPECT_EQ(storage.calls().size(), 2U);
}

TEST(Journal, AFullPipelineMakesAsynchronousCallsWait) {
  GatedStorage storage;
  Journal journal(&storage, {.flush_interval = std::chrono::hours(1), .max_batch_bytes = 64});
  storage.Shut();
  journal.Append(Put("first"), Journal::Urgency::kUrgent);
  journal.WakeWriter();
  storage.AwaitCalls(1);
  const Position p = journal.Append(Put(std::string(100, 'x')), Journal::Urgency::kUrgent);
  auto wait =
      std::async(std::launch::async, [&journal, p] { return journal.Wait(p, Durability::kAsync); });
  EXPECT_EQ(wait.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  storage.Open();
  EXPECT_TRUE(wait.get().ok());
  EXPECT_GE(storage.calls().size(), 2U);
}

TEST(Journal, AnAnnouncedBatchIsCollectedAndWritten) {
  GatedStorage storage;
  std::unique_ptr<Journal> journal;
  std::atomic<bool> has_some = false;
  Journal::Options options = kPatient;
  options.collect = [&] {
    if (has_some.exchange(false)) {
      journal->Append(Put("k"), Journal::Urgency::kUrgent);
    }
  };
  journal = std::make_unique<Journal>(&storage, options);
  for (size_t round = 1; round <= 500; ++round) {
    has_some = true;
    journal->Announce();
    storage.AwaitCalls(round);
  }
}

TEST(Journal, LazyAppendsAreWrittenAfterTheIntervalWhateverIsAnnounced) {
  GatedStorage storage;
  Journal journal(&storage, {.flush_interval = std::chrono::milliseconds(5), .collect = [] {}});
  const Position position = journal.Append(Put("k"), Journal::Urgency::kLazy);
  EXPECT_TRUE(journal.Wait(position, Durability::kAsync).ok());
  while (storage.calls().empty()) {
    journal.Announce();
  }
}

TEST(Journal, StopsDuringACollect) {
  GatedStorage storage;
  for (int round = 0; round < 300; ++round) {
    Journal::Options options = kPatient;
    options.collect = [] { std::this_thread::yield(); };
    Journal journal(&storage, options);
    journal.Announce();
    EXPECT_TRUE(journal.Stop().ok());
  }
}

TEST(Journal, StopWritesAndSyncsWhatIsOpen) {
  GatedStorage storage;
  Journal journal(&storage, kPatient);
  journal.Append(Put("a"), Journal::Urgency::kLazy);
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
        const Position p = journal.Append(batch, Journal::Urgency::kWaited);
        ASSERT_TRUE(journal.Wait(p, static_cast<Durability>((i + t) % 3)).ok());
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_TRUE(journal.Stop().ok());
}

TEST(Journal, KeepsTheOrderOfAppendsFromManyThreads) {
  auto disk = std::make_shared<storage::MemoryDisk>();
  storage::MemoryStorage storage(disk);
  Journal journal(&storage, {});
  std::mutex order_mu;  // Represents a queue's lock.
  uint64_t next = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        Position p = 0;
        {
          const std::lock_guard lock(order_mu);
          MutationBatch batch;
          batch.Put(Family::kDirty, "last", std::to_string(++next));
          p = journal.Append(batch, static_cast<Journal::Urgency>(i % 3));
          ASSERT_EQ(p, next);
        }
        ASSERT_TRUE(journal.Wait(p, static_cast<Durability>((i + t) % 3)).ok());
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  ASSERT_TRUE(journal.Stop().ok());
  std::string value;
  ASSERT_TRUE(storage.Get(Family::kDirty, "last", &value).ok());
  EXPECT_EQ(value, std::to_string(next));
}

}  // namespace
}  // namespace wq
