// Repair: what can be read of a damaged store is in the new store, in which Verify finds nothing;
// the old store is unchanged.
#include "wq/repair.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <random>

#include "storage/open.h"
#include "storage/record_keys.h"
#include "storage/records.h"
#include "template_store.h"
#include "tests/storage/support.h"
#include "tests/support/environment.h"
#include "wq/store.h"
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
    EXPECT_EQ(FoundIn(into_), "");
    return report;
  }
  // The values of those rows of the sound store that the new one lacks.
  std::vector<std::string> MissingValues(const TemplateStore& store) {
    WriteStore(store.files, sound_);
    std::vector<std::string> missing;
    const AllRows rows = RowsIn(into_);
    for (const auto& [place, value] : RowsIn(sound_)) {
      if (!rows.contains(place)) missing.push_back(value);
    }
    return missing;
  }
  size_t Missing(const TemplateStore& store) { return MissingValues(store).size(); }
  // How many rows of the new store are of the family.
  size_t Count(Family family) {
    const AllRows rows = RowsIn(into_);
    return static_cast<size_t>(std::count_if(
        rows.begin(), rows.end(), [&](const auto& row) { return row.first.first == family; }));
  }

  const Scratch scratch_;
  const std::string store_ = scratch_ / "store";
  const std::string into_ = scratch_ / "into";
  const std::string sound_ = scratch_ / "sound";
};

// A token must not be reserved twice, even if the record of the tokens is lost.
TEST_F(RepairTest, TheNextTokenIsKeptAndFollowsTheClockAfterALoss) {
  constexpr uint64_t kSmallest = 1'700'000'000'000'000;
  constexpr uint64_t kAboveClock = uint64_t{1} << 60;
  struct Case {
    std::string value;  // Of the record.
    bool with_loss;     // Another row is damaged.
    uint64_t least;
    uint64_t most;
  };
  const auto value_of = [](uint64_t next) {
    std::string value;
    MutationBatch batch;
    PutTokens({.next = next}, &batch);
    batch.ForEach([&value](const Mutation& put) { value = put.value; });
    return value;
  };
  for (const Case& one :
       {Case{value_of(42), false, 42, 42}, Case{value_of(42), true, kSmallest, kAboveClock - 1},
        Case{value_of(kAboveClock), true, kAboveClock, kAboveClock},
        Case{value_of(0), false, kSmallest, kAboveClock - 1},
        Case{"\xff", false, kSmallest, kAboveClock - 1}}) {
    std::filesystem::remove_all(into_);
    MakeStore(store_, [&one](MutationBatch* batch) {
      batch->Put(Family::kDefault, kTokensKey, one.value);
      if (one.with_loss) batch->Put(Family::kDefault, "unknown", "row");
    });
    const bool damaged = one.value != value_of(42) && one.value != value_of(kAboveClock);
    EXPECT_EQ(FoundIn(store_).empty(), !damaged && !one.with_loss);
    std::unique_ptr<Store> opened;
    EXPECT_EQ(Store::Open({}, store_, &opened).code(),
              damaged ? StatusCode::kCorruption : StatusCode::kOk);
    opened.reset();
    RepairReport report;
    ASSERT_OK(Repair(store_, into_, &report));
    ASSERT_OK(Store::Open({}, into_, &opened));
    uint64_t first = 0;
    ASSERT_OK(opened->ReserveTokens(1, &first));
    EXPECT_GE(first, one.least);
    EXPECT_LE(first, one.most);
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
  const std::string losses = LinesOf(report.losses);
  EXPECT_NE(losses.find("000004.log: bytes "), losses.npos) << losses;
  EXPECT_NE(losses.find("changes before the sequence"), losses.npos) << losses;
}

// What a kill in the midst of a write leaves, and an opening takes for what it is.
TEST_F(RepairTest, ATornTailOfALogIsNoLoss) {
  const TemplateStore store = MakeSmallStore();
  Files files = store.files;
  std::string& log = files["000004.log"];
  log.resize(log.size() - 3);
  const RepairReport report = RepairFiles(files);
  EXPECT_EQ(LinesOf(report.losses), "");
  EXPECT_GE(Missing(store), 1U) << "the record was whole";
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
  // Which table is the largest depends on how far the compactions have come. Whatever it holds, a
  // block ends with the row that takes it over 16 KiB.
  const std::vector<std::string> missing = MissingValues(store);
  EXPECT_FALSE(missing.empty());
  size_t bytes = 0;
  for (const std::string& value : missing) bytes += value.size();
  EXPECT_LE(bytes, (size_t{16} << 10) + 512);
}

// A manifest whose end is missing names tables and logs of an earlier point in time.
TEST_F(RepairTest, AManifestThatIsCutOffSavesAsMuchAsNoManifest) {
  const TemplateStore store = MakeRecoveredStore();
  const auto manifest = std::find_if(store.files.begin(), store.files.end(),
                                     [](auto& file) { return file.first.starts_with("MANIFEST"); });
  ASSERT_NE(manifest, store.files.end());
  Files files = store.files;
  files.erase(manifest->first);
  RepairFiles(files);
  const size_t missing = Missing(store);
  for (size_t cut = 1; cut < manifest->second.size(); cut += 397) {
    SCOPED_TRACE("cut off by " + std::to_string(cut));
    files[manifest->first] = manifest->second.substr(0, manifest->second.size() - cut);
    RepairFiles(files);
    EXPECT_LE(Missing(store), missing);
  }
}

TEST_F(RepairTest, ATableOfAnotherStoreIsALossAndReplacesNoRecord) {
  const TemplateStore store = MakeSmallClosedStore();
  const Files others = MakeClosedStore().files;
  size_t cases = 0;
  for (const auto& [name, contents] : store.files) {
    if (!name.ends_with(".sst")) continue;
    Files without = store.files;
    without.erase(name);
    RepairFiles(without);
    const size_t missing = Missing(store);
    for (const auto& [other, foreign] : others) {
      if (!other.ends_with(".sst") || std::stoi(other) % 3 != 0) continue;
      SCOPED_TRACE(other + " as " + name);
      Files files = store.files;
      files[name] = foreign;
      const RepairReport report = RepairFiles(files);
      EXPECT_LE(Missing(store), missing);
      EXPECT_TRUE(std::any_of(report.losses.begin(), report.losses.end(),
                              [&where = name](const Loss& loss) { return loss.where == where; }));
      ++cases;
    }
  }
  EXPECT_GT(cases, 10U);
}

TEST_F(RepairTest, ADamagedRecordOfAProcessLogCostsNoMoreThanItself) {
  const TemplateStore store = MakeSmallLoggedStore();
  Files files = store.files;
  const std::string name = ProcessLogOf(files);
  const size_t at = files[name].find("namespace/key-37");
  ASSERT_NE(at, std::string::npos);
  files[name][at] ^= 1;
  const std::string losses = LinesOf(RepairFiles(files).losses);
  EXPECT_NE(losses.find(name + ": the records from position "), std::string::npos) << losses;
  EXPECT_GE(Missing(store), 1U);
  EXPECT_LE(Missing(store), 2U);
}

TEST_F(RepairTest, AProcessLogThatIsMissingOrOfAnotherStoreIsALoss) {
  const TemplateStore store = MakeSmallLoggedStore();
  const TemplateStore other = MakeSmallLoggedStore();
  const std::string name = ProcessLogOf(store.files);
  Files files = store.files;
  files.erase(name);
  std::string losses = LinesOf(RepairFiles(files).losses);
  EXPECT_NE(losses.find(name + ": all of its records: it is missing"), std::string::npos) << losses;
  const size_t missing = Missing(store);
  EXPECT_GT(missing, 5U);
  files[name] = other.files.at(name);
  losses = LinesOf(RepairFiles(files).losses);
  EXPECT_NE(losses.find(name + ": all of its records: it belongs to store "), std::string::npos)
      << losses;
  EXPECT_EQ(Missing(store), missing);
}

// The database has lost its end, and with it the record of the process log.
TEST_F(RepairTest, AProcessLogWithoutItsDatabaseIsTaken) {
  const TemplateStore store = MakeSmallLoggedStore();
  Files files = store.files;
  const std::string name = ProcessLogOf(files);
  for (auto& [file, contents] : files) {
    if (file.ends_with(".log")) contents.resize(contents.size() / 4);
  }
  WriteStore(store.files, sound_);
  RepairFiles(files);
  const AllRows rows = RowsIn(into_);
  for (int n = 38; n <= 40; ++n) {
    if (n % 5 == 4 || n % 3 == 0) continue;  // Erased, or of another lane.
    EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [n](const auto& row) {
      return row.first.first == Family::kDirty &&
             row.first.second.ends_with("namespace/key-" + std::to_string(n));
    })) << n;
  }
}

// The steps that ended the process: the tables of a store that was renewed, twice.
TEST_F(RepairTest, ATableAndItsCopyUnderAHigherNumberAreMerged) {
  TemplateStore store = MakeClosedStore();
  WriteStore(store.files, store_);
  ASSERT_OK(RenewStore(store_, 2));
  std::unique_ptr<Storage> storage;
  ASSERT_OK(OpenExisting(store_, &storage));
  MutationBatch batch;
  PutCursor(1, {"later", "1"}, &batch);
  ASSERT_OK(storage->Write(batch, false));
  storage.reset();
  store.files = ReadStore(store_);
  Files files = store.files;
  uint64_t number = 900'000;
  for (const auto& [name, contents] : store.files) {
    if (name.ends_with(".sst")) files[std::to_string(number++) + ".sst"] = contents;
  }
  std::erase_if(files, [](const auto& file) { return file.first.starts_with("MANIFEST"); });
  RepairFiles(files);
  EXPECT_EQ(Missing(store), 0U);
}

// The files are sound and the rows contradict one another: of two rows the younger one is kept.
TEST_F(RepairTest, RowsThatContradictOneAnotherAreSettled) {
  MakeStore(store_, [](MutationBatch* batch) {
    PutQueue({"pods", 1, 1}, batch);
    PutQueue({"twin", 1, 1}, batch);
    PutQueue({"half~loading", 2, 1}, batch);
    PutPending(2, {.key = "of-no-queue", .sequence = 1}, batch);
    PutQueueState(1, {.sequence_high_water = 3}, batch);
    PutPending(1, {.key = "young-in-lane", .sequence = 5}, batch);
    PutPending(1, {.key = "young-in-lane", .lane = kSlowLane, .sequence = 6}, batch);
    PutPending(1, {.key = "old-in-lane", .lane = kSlowLane, .sequence = 7}, batch);
    PutPending(1, {.key = "old-in-lane", .sequence = 8}, batch);
    PutDelayed(1, {.key = "delayed", .ready_at_us = 5, .delay_us = 1}, batch);
    PutDelayed(1, {.key = "delayed", .ready_at_us = 6, .delay_us = 1}, batch);
    PutDelayed(1, {.key = "bad", .ready_at_us = 7, .delay_us = 1}, batch);
    PutFailures(1, {.key = "bad", .count = 2}, batch);
    PutQuarantine(1, {.failures = {.key = "bad"}}, batch);
    batch->Put(Family::kDelayed, "x", "");  // No key of this family.
  });

  const std::string losses = LinesOf(RepairFiles(ReadStore(store_)).losses);
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
  EXPECT_EQ(Count(Family::kDirty), 1U);
  EXPECT_EQ(Count(Family::kLanes), 1U);
  EXPECT_EQ(Count(Family::kDelayed), 1U);
  EXPECT_EQ(Count(Family::kFailures), 0U);
}

TEST_F(RepairTest, AStateOutOfRangeKeepsItsPause) {
  MakeStore(store_, [](MutationBatch* batch) {
    PutQueue({"pods", 1, 1}, batch);
    const std::string too_long(5000, 'l');
    PutQueueState(1,
                  {.sequence_high_water = 30,
                   .limiter_state = too_long,
                   .paused = true,
                   .paused_until_us = 7,
                   .shards = 1 << 20},
                  batch);
  });
  EXPECT_EQ(RepairFiles(ReadStore(store_)).losses.size(), 1U);
  std::unique_ptr<Reader> reader;
  ASSERT_OK(OpenReader(into_, &reader));
  QueueStateRecord state;
  std::string value;
  ASSERT_OK(GetQueueState(*reader, 1, &value, &state));
  EXPECT_EQ(state.sequence_high_water, 30U);
  EXPECT_EQ(state.limiter_state, "");
  EXPECT_TRUE(state.paused);
  EXPECT_EQ(state.paused_until_us, 7);
  EXPECT_EQ(state.shards, 0U);
}

// Keys get new sequences from the queue's high-water mark on, and the rest of its state is kept.
TEST_F(RepairTest, NewSequencesKeepTheQueuesState) {
  MakeStore(store_, [](MutationBatch* batch) {
    PutQueue({"pods", 1, 1}, batch);
    PutQueueState(1, {.sequence_high_water = 30, .limiter_state = "l", .paused = true, .shards = 4},
                  batch);
    PutPending(1, {.key = "a", .sequence = 5}, batch);
    PutPending(1, {.key = "b", .sequence = 5}, batch);
    PutPending(1, {.key = "c", .sequence = UINT64_MAX, .group = "g"}, batch);
    PutQueue({"recovered-2", 3, 1}, batch);
    PutDelayed(2, {.key = "of-no-queue", .ready_at_us = 5, .delay_us = 1}, batch);
  });

  const std::string losses = LinesOf(RepairFiles(ReadStore(store_)).losses);
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

TEST_F(RepairTest, AStoreWithoutFormatAndOwnerIsSaved) {
  const TemplateStore store = MakeSmallStore();
  Files files = store.files;
  files.erase("FORMAT");
  files.erase("OWNER");
  WriteStore(files, store_);
  const std::string next = "if it was one, run wqctl --store " + store_ + " repair --into NEW";
  std::unique_ptr<Reader> reader;
  EXPECT_STATUS(kNotFound, next, OpenReader(store_, &reader));
  std::unique_ptr<Storage> storage;
  EXPECT_STATUS(kNotFound, next, OpenExisting(store_, &storage));
  VerifyReport verified;
  EXPECT_STATUS(kNotFound, next, Verify(store_, {}, &verified));
  RepairFiles(files);
  EXPECT_EQ(Missing(store), 0U);
}

TEST_F(RepairTest, TheDatabaseOfAnotherProgramIsNotTakenForAStore) {
  MakeStore(store_, [](MutationBatch* batch) {
    batch->Erase(Family::kDefault, kStoreKey);  // Only a store has it.
    batch->Put(Family::kDefault, "key", "value");
  });
  std::filesystem::remove(store_ + "/FORMAT");
  std::filesystem::remove(store_ + "/OWNER");
  RepairReport report;
  EXPECT_STATUS(kNotFound, "the database of another program", Repair(store_, into_, &report));
  EXPECT_FALSE(std::filesystem::exists(into_));
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
