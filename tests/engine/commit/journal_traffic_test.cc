// Batches of drawn sizes from many threads, through a journal with drawn buffers, at drawn levels:
// each of them reaches the storage once, in the order of their Append, and no call fails.
//
// WQ_SEED is the seed, WQ_JOURNAL_ROUNDS the number of rounds. The order of the threads is
// the machine's: repeat a run that does not fail at once.
#include <sched.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/boot_id.h"
#include "engine/commit/journal.h"
#include "storage/process_log.h"
#include "storage/record_keys.h"
#include "storage/storage.h"
#include "tests/support/draw.h"
#include "tests/support/environment.h"

namespace wq {
namespace {

using storage::Family;
using storage::MutationBatch;
using support::Buffers;
using support::DrawnSizes;
using support::FromEnvironment;

// Expects the rows 0, 1, 2, … of kDirty, in this order. A write takes some time, in which other
// threads append.
class OrderedStorage final : public storage::Storage {
 public:
  explicit OrderedStorage(size_t log_bytes) {
    if (log_bytes > 0) {
      const uint64_t capacity = std::max<uint64_t>(log_bytes, 4096);
      const Status made = storage::ProcessLog::Create(
          dir_.path(), {.store_uuid = "u", .boot_id = BootId(), .number = 1, .capacity = capacity},
          &log_);
      EXPECT_TRUE(made.ok()) << made.ToString();
    }
  }
  Status Get(Family, std::string_view, std::string*) const override { return Status::NotFound(""); }
  Status Scan(Family, std::string_view, std::string_view, const Visitor&) const override {
    return {};
  }
  Status Write(MutationBatch& batch, bool /*sync*/) override {
    batch.ForEach([this](const storage::Mutation& mutation) {
      if (mutation.family == Family::kDirty) {
        EXPECT_EQ(storage::ReadBig64(mutation.key), rows_);
        ++rows_;
      }
    });
    for (int i = 0; i < 20; ++i) sched_yield();
    return {};
  }
  Status Sync() override { return {}; }
  Status Reopen() override { return {}; }
  Status Close() override { return {}; }
  storage::ProcessLog* process_log() override { return log_.get(); }

  uint64_t rows() const { return rows_; }

 private:
  support::ScratchDirectory dir_;
  std::unique_ptr<storage::ProcessLog> log_;
  uint64_t rows_ = 0;  // Of the thread that writes: the journal has one at a time.
};

class JournalTraffic : public ::testing::Test {
 protected:
  // One thread's batches.
  void Append(Journal* journal, uint64_t seed, bool syncs);
  void Round(uint64_t seed);

  std::mutex mu_;  // Represents a queue's lock.
  uint64_t rows_ = 0;
};

void JournalTraffic::Append(Journal* journal, uint64_t seed, bool syncs) {
  std::mt19937_64 random(seed);
  DrawnSizes sizes(random(), {.batch_keys = 300, .total_bytes = size_t{256} << 10});
  for (int i = 0; i < 60; ++i) {
    const auto level = static_cast<Durability>(random() % (syncs ? 3 : 2));
    Position position = 0;
    {
      const std::lock_guard lock(mu_);
      MutationBatch batch;
      for (size_t n = sizes.BatchKeys(); n > 0; --n) {
        std::string key;
        storage::AppendBig64(rows_++, &key);
        key.append(sizes.KeyBytes(), '.');
        batch.Put(Family::kDirty, key, "");
      }
      position = journal->Append(batch, level);
    }
    const Status s = journal->Wait(position, level);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
}

void JournalTraffic::Round(uint64_t seed) {
  std::mt19937_64 random(seed);
  const Buffers buffers = Buffers::Draw(&random);
  SCOPED_TRACE("WQ_SEED=" + std::to_string(seed) + " WQ_JOURNAL_ROUNDS=1: " + buffers.ToString());
  rows_ = 0;
  OrderedStorage storage(buffers.process_log_bytes);
  Journal journal(&storage, {.flush_interval = std::chrono::milliseconds(buffers.flush_interval_ms),
                             .max_batch_bytes = buffers.max_batch_bytes});
  const bool syncs = random() % 2 == 0;
  std::vector<std::thread> threads;
  for (uint64_t t = 1 + random() % 6; t > 0; --t) {
    threads.emplace_back([&, s = random()] { Append(&journal, s, syncs); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_TRUE(journal.Stop().ok());
  EXPECT_EQ(storage.rows(), rows_);
}

TEST_F(JournalTraffic, EveryBatchIsWrittenOnceAndInOrder) {
  const uint64_t seed = support::Seed();
  const uint64_t rounds = FromEnvironment("WQ_JOURNAL_ROUNDS", 60);
  std::cout << "replay with WQ_SEED=" << seed << " WQ_JOURNAL_ROUNDS=" << rounds << "\n";
  for (uint64_t round = 0; round < rounds && !HasFailure(); ++round) {
    Round(seed + round);
  }
}

}  // namespace
}  // namespace wq
