// Repair: what can be read of a damaged store is in the new store, in which Verify finds nothing;
// the old store is unchanged.
#include "wq/repair.h"

#include <gtest/gtest.h>

#include <random>

#include "storage/open.h"
#include "storage/records.h"
#include "template_store.h"
#include "tests/storage/support.h"
#include "wq/verify.h"

namespace wq::storage {
namespace {

class RepairTest : public ::testing::Test {
 protected:
  // Repairs a store of these files, and checks what must hold after every repair.
  RepairReport RepairFiles(const Files& files) {
    WriteStore(files, store_);
    std::filesystem::remove_all(into_);
    RepairReport report;
    EXPECT_OK(Repair(store_, into_, &report));
    EXPECT_TRUE(ReadStore(store_) == files) << "it changed the old store";
    VerifyReport verified;
    EXPECT_OK(Verify(into_, {}, &verified));
    EXPECT_TRUE(verified.ok()) << verified.findings[0].where << ": " << verified.findings[0].what;
    return report;
  }
  // Rows of the new store: without the store's own record.
  std::map<std::string, std::string> Rows(Family family, const std::string& dir) {
    std::map<std::string, std::string> rows;
    std::unique_ptr<Reader> reader;
    EXPECT_OK(OpenReader(dir, &reader));
    if (reader == nullptr) return rows;
    EXPECT_OK(reader->Scan(family, "", "", [&rows](std::string_view key, std::string_view value) {
      if (key != "store") rows.emplace(key, value);
      return true;
    }));
    return rows;
  }
  // How many rows of the sound store the new one lacks.
  size_t Missing(const TemplateStore& store) {
    WriteStore(store.files, sound_);
    size_t missing = 0;
    for (int family = 0; family < kFamilyCount; ++family) {
      const auto rows = Rows(static_cast<Family>(family), into_);
      for (const auto& [key, value] : Rows(static_cast<Family>(family), sound_)) {
        missing += rows.contains(key) ? 0 : 1;
      }
    }
    return missing;
  }

  const Scratch scratch_;
  const std::string store_ = scratch_ / "store";
  const std::string into_ = scratch_ / "into";
  const std::string sound_ = scratch_ / "sound";
};

TEST_F(RepairTest, ASoundStoreIsCopiedWhole) {
  for (const TemplateStore& store : {MakeAbandonedStore(), MakeRecoveredStore(), MakeClosedStore(),
                                     MakeSmallStore(), MakeSmallClosedStore()}) {
    SCOPED_TRACE(store.name);
    const RepairReport report = RepairFiles(store.files);
    EXPECT_TRUE(report.losses.empty()) << report.losses[0].where << ": " << report.losses[0].what;
    EXPECT_EQ(Missing(store), 0U);
    for (int family = 0; family < kFamilyCount; ++family) {
      EXPECT_EQ(Rows(static_cast<Family>(family), into_),
                Rows(static_cast<Family>(family), sound_));
    }
  }
}

TEST_F(RepairTest, WithoutManifestAndCurrentAllIsFoundByItsFiles) {
  const TemplateStore store = MakeClosedStore();
  Files files = store.files;
  std::erase_if(files, [](const auto& file) {
    return file.first.starts_with("MANIFEST") || file.first == "CURRENT";
  });
  const RepairReport report = RepairFiles(files);
  EXPECT_FALSE(report.losses.empty());
  EXPECT_EQ(Missing(store), 0U);
}

TEST_F(RepairTest, ADamagedRecordOfALogCostsNoMoreThanItself) {
  const TemplateStore store = MakeSmallStore();
  Files files = store.files;
  std::string& log = files["000004.log"];
  const size_t at = log.find("namespace/key-5");
  ASSERT_NE(at, log.npos);
  log[at] ^= 1;
  const RepairReport report = RepairFiles(files);
  ASSERT_FALSE(report.losses.empty());
  EXPECT_EQ(Missing(store), 1U) << "the key of the record, and nothing of those behind it";
  std::string losses;
  for (const Loss& loss : report.losses) losses += loss.where + ": " + loss.what + "\n";
  EXPECT_NE(losses.find("000004.log: bytes "), losses.npos) << losses;
  EXPECT_NE(losses.find("changes before the sequence"), losses.npos) << losses;
}

TEST_F(RepairTest, ADamagedBlockOfATableCostsNoMoreThanItself) {
  const TemplateStore store = MakeAbandonedStore();
  Files files = store.files;
  const auto largest = std::max_element(files.begin(), files.end(), [](auto& a, auto& b) {
    const auto bytes = [](auto& file) {
      return file.first.ends_with(".sst") ? file.second.size() : 0;
    };
    return bytes(a) < bytes(b);
  });
  largest->second[largest->second.size() / 2] ^= 1;
  const RepairReport report = RepairFiles(files);
  ASSERT_EQ(report.losses.size(), 1U);
  EXPECT_EQ(report.losses[0].where, largest->first);
  EXPECT_GT(Missing(store), 0U);
  EXPECT_LT(Missing(store), 30U);
}

// Whatever is damaged, the new store is sound and the old one is unchanged.
TEST_F(RepairTest, AnyDamageLeavesASoundNewStore) {
  const std::vector<TemplateStore> stores = {MakeRecoveredStore(), MakeSmallClosedStore()};
  std::mt19937_64 random(11);
  for (int n = 0; n < 60; ++n) {
    const TemplateStore& store = stores[random() % stores.size()];
    Files files = store.files;
    for (int damages = 0; damages < 3; ++damages) {
      auto file = files.begin();
      std::advance(file, static_cast<ptrdiff_t>(random() % files.size()));
      // Another version in FORMAT is no damage.
      if (file->second.empty() || file->first == "FORMAT") continue;
      const size_t at = random() % file->second.size();
      SCOPED_TRACE(store.name + ", " + file->first + " at " + std::to_string(at));
      if (random() % 4 == 0) {
        file->second.resize(at);
      } else {
        file->second[at] ^= static_cast<char>(1U << random() % 8);
      }
    }
    RepairFiles(files);
  }
}

// The files are sound and the rows contradict one another: of two rows the younger one is kept.
TEST_F(RepairTest, RowsThatContradictOneAnotherAreSettled) {
  std::unique_ptr<Storage> storage;
  ASSERT_OK(OpenNew(store_, &storage));
  MutationBatch batch;
  PutQueue({"pods", 1, 1}, &batch);
  PutQueue({"twin", 1, 1}, &batch);
  PutQueue({"half~loading", 2, 1}, &batch);
  PutPending(2, {.key = "of-no-queue", .sequence = 1}, &batch);
  PutQueueState(1, {.sequence_high_water = 3}, &batch);
  PutPending(1, {.key = "young-in-lane", .sequence = 5}, &batch);
  PutPending(1, {.key = "young-in-lane", .lane = kSlowLane, .sequence = 6}, &batch);
  PutPending(1, {.key = "old-in-lane", .lane = kSlowLane, .sequence = 7}, &batch);
  PutPending(1, {.key = "old-in-lane", .sequence = 8}, &batch);
  PutDelayed(1, {.key = "delayed", .ready_at_us = 5, .delay_us = 1}, &batch);
  PutDelayed(1, {.key = "delayed", .ready_at_us = 6, .delay_us = 1}, &batch);
  PutDelayed(1, {.key = "bad", .ready_at_us = 7, .delay_us = 1}, &batch);
  PutFailures(1, {.key = "bad", .count = 2}, &batch);
  PutQuarantine(1, {.failures = {.key = "bad"}}, &batch);
  batch.Put(Family::kDelayed, "x", "");  // No key of this family.
  ASSERT_OK(storage->Write(batch, false));
  ASSERT_OK(storage->Close());
  storage.reset();

  std::string losses;
  for (const Loss& loss : RepairFiles(ReadStore(store_)).losses) {
    losses += loss.where + ": " + loss.what + "\n";
  }
  for (const char* const part :
       {"queue twin: has the id of queue pods", "'young-in-lane' is pending twice: its older place",
        "'old-in-lane' is pending twice: its older place", "'delayed' is delayed twice: the later",
        "'bad' is delayed and quarantined: its delay",
        "'bad' is both failing and quarantined: its older failures", "queue pods: its state",
        "a record: "}) {
    EXPECT_NE(losses.find(part), std::string::npos) << part << " is not in\n" << losses;
  }
  EXPECT_EQ(losses.find("of-no-queue"), std::string::npos) << "an import's, and so no loss\n"
                                                           << losses;
  EXPECT_EQ(Rows(Family::kDirty, into_).size(), 1U);
  EXPECT_EQ(Rows(Family::kLanes, into_).size(), 1U);
  EXPECT_EQ(Rows(Family::kDelayed, into_).size(), 1U);
  EXPECT_TRUE(Rows(Family::kFailures, into_).empty());
}

// Keys get new sequences from the queue's high-water mark on, and the rest of its state is kept.
TEST_F(RepairTest, NewSequencesKeepTheQueuesState) {
  std::unique_ptr<Storage> storage;
  ASSERT_OK(OpenNew(store_, &storage));
  MutationBatch batch;
  PutQueue({"pods", 1, 1}, &batch);
  PutQueueState(1, {.sequence_high_water = 30, .limiter_state = "l", .paused = true, .shards = 4},
                &batch);
  PutPending(1, {.key = "a", .sequence = 5}, &batch);
  PutPending(1, {.key = "b", .sequence = 5}, &batch);
  PutPending(1, {.key = "c", .sequence = UINT64_MAX, .group = "g"}, &batch);
  PutQueue({"recovered-2", 3, 1}, &batch);
  PutDelayed(2, {.key = "of-no-queue", .ready_at_us = 5, .delay_us = 1}, &batch);
  ASSERT_OK(storage->Write(batch, false));
  ASSERT_OK(storage->Close());
  storage.reset();

  std::string losses;
  for (const Loss& loss : RepairFiles(ReadStore(store_)).losses) {
    losses += loss.where + ": " + loss.what + "\n";
  }
  EXPECT_EQ(losses,
            "queue recovered-2-: rows of no queue: it has a new name\n"
            "queue pods: key 'b' has a sequence that another key has: its place in the lane\n"
            "queue pods: key 'c' has a sequence that is out of range: its place in the lane\n");
  std::unique_ptr<Reader> reader;
  ASSERT_OK(OpenReader(into_, &reader));
  QueueStateRecord state;
  std::string value;
  ASSERT_OK(GetQueueState(*reader, 1, &value, &state));
  EXPECT_EQ(state.sequence_high_water, 32U);
  EXPECT_EQ(state.limiter_state, "l");
  EXPECT_TRUE(state.paused);
  EXPECT_EQ(state.shards, 4U);
  std::string rows;
  ASSERT_OK(ScanPending(*reader, 1, [&rows](const PendingRecord& record) {
    rows.append(record.key).append(std::to_string(record.sequence)).append(record.group);
    return true;
  }));
  EXPECT_EQ(rows, "a5b30c31g");
}

TEST_F(RepairTest, WhatIsNoStoreOrWhatIsThereAlreadyIsRefused) {
  RepairReport report;
  EXPECT_STATUS(kNotFound, "no store", Repair(store_, into_, &report));
  WriteStore({{"photo.jpg", "x"}}, store_);
  EXPECT_STATUS(kNotFound, "photo.jpg", Repair(store_, into_, &report));
  WriteStore(MakeSmallStore().files, store_);
  WriteStore({{"photo.jpg", "x"}}, into_);
  EXPECT_STATUS(kAlreadyExists, into_, Repair(store_, into_, &report));
  EXPECT_EQ(FilesIn(into_), std::vector<std::string>{"photo.jpg"});
}

TEST_F(RepairTest, AStoreWithALivingOwnerIsLeftAlone) {
  WriteStore(MakeSmallStore().files, store_);
  std::unique_ptr<Storage> storage;
  ASSERT_OK(OpenExisting(store_, &storage));
  RepairReport report;
  EXPECT_STATUS(kLocked, store_, Repair(store_, into_, &report));
  EXPECT_FALSE(std::filesystem::exists(into_));
}

}  // namespace
}  // namespace wq::storage
