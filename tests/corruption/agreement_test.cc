// Repair agrees with verify: a store that verify accepts is saved as it would be opened, without a
// loss; of one that it refuses, repair saves everything, or reports a loss. Of any mix of files it
// makes a sound store, or none.
//
//   WQ_SEED=1   which damages are drawn
#include <gtest/gtest.h>

#include <iostream>
#include <random>
#include <utility>
#include <vector>

#include "storage/open.h"
#include "storage/process_log.h"
#include "storage/record_keys.h"
#include "storage/records.h"
#include "template_store.h"
#include "tests/storage/support.h"
#include "tests/support/environment.h"
#include "wq/repair.h"
#include "wq/verify.h"

namespace wq::storage {
namespace {

// One of several stores, or one store at one of several instants, damaged.
struct DamagedStore {
  std::string what;
  const TemplateStore* sound = nullptr;
  Files files;
  bool is_mix = false;  // Of so many files that nothing tells whose store it is.
};

class AgreementTest : public ::testing::Test {
 protected:
  const AllRows& RowsOf(const TemplateStore& store) {
    const auto [found, is_new] = sound_rows_.try_emplace(&store);
    if (is_new) {
      WriteStore(store.files, scratch_ / "sound");
      found->second = RowsIn(scratch_ / "sound");
    }
    return found->second;
  }

  void Check(const DamagedStore& damaged) {
    SCOPED_TRACE(damaged.what);
    WriteStore(damaged.files, store_);
    std::filesystem::remove_all(into_);
    VerifyReport verified;
    const Status read = Verify(store_, {}, &verified);
    const bool accepted = read.ok() && verified.ok();
    RepairReport report;
    const Status repaired = Repair(store_, into_, &report);
    if (!repaired.ok()) {
      EXPECT_FALSE(accepted) << repaired.ToString();
      ++refused_;
      return;
    }
    EXPECT_EQ(FoundIn(into_), "");
    EXPECT_TRUE(ReadStore(store_) == damaged.files) << "it changed the old store";
    if (damaged.is_mix) return;
    const AllRows saved = RowsIn(into_);
    if (accepted) {
      EXPECT_TRUE(saved == RowsIn(store_)) << "it is not saved as it would be opened";
      EXPECT_EQ(LinesOf(report.losses), "");
    } else {
      EXPECT_TRUE(!report.losses.empty() || saved == RowsOf(*damaged.sound))
          << "repair lost something without a word; verify says\n"
          << read.message() << LinesOf(verified.findings);
    }
    ++(accepted ? accepted_ : refused_);
  }

  const Scratch scratch_;
  const std::string store_ = scratch_ / "store";
  const std::string into_ = scratch_ / "into";
  std::map<const TemplateStore*, AllRows> sound_rows_;
  uint64_t accepted_ = 0;
  uint64_t refused_ = 0;
};

TEST_F(AgreementTest, ASoundStoreIsAcceptedAndSavedWhole) {
  for (const TemplateStore& store : AllTemplateStores()) Check({store.name, &store, store.files});
  EXPECT_EQ(refused_, 0U);
}

// The log is intact, and ends before the position that the database has.
TEST_F(AgreementTest, AnOlderProcessLogOfTheSameOwnerIsReported) {
  const std::vector<TemplateStore> ages = MakeAgingLoggedStore();
  for (size_t now = 1; now < ages.size(); ++now) {
    const std::string log = ProcessLogOf(ages[now].files);
    for (size_t then = 0; then < now; ++then) {
      if (ProcessLogOf(ages[then].files) != log || (now + then) % 3 != 0) continue;
      Files files = ages[now].files;
      files[log] = ages[then].files.at(log);
      Check({log + " of " + ages[then].name + " in " + ages[now].name, &ages[now], files});
    }
  }
  EXPECT_GT(refused_, 5U);
}

// The write-ahead log brings a store's own record, and says nothing of what the right one had.
TEST_F(AgreementTest, AWriteAheadLogOfAnotherStoreIsReported) {
  const TemplateStore store = MakeSmallLoggedStore();
  const TemplateStore other = MakeSmallStore();
  Files files = store.files;
  for (const auto& [name, contents] : other.files) {
    if (name.ends_with(".log")) files[name] = contents;
  }
  Check({"a log of " + other.name, &store, files});
  EXPECT_EQ(refused_, 1U);
}

// What an ownership of a replica left in its process log, and an opening has put aside.
TEST_F(AgreementTest, WhatAReplicaHasAheadOfItsLogIsSaved) {
  MakeStore(store_, [](MutationBatch* batch) {
    MutationBatch ahead;
    PutQueue({"pods", 1, 1}, batch);
    PutQueueState(1, {.sequence_high_water = 9}, batch);
    PutPending(1, {.key = "done-since", .sequence = 1}, batch);
    PutReplication({.epoch = 3, .sequence = 5, .seeded = true}, batch);
    ErasePending(1, kFastLane, 1, "done-since", &ahead);
    PutPending(1, {.key = "added-since", .sequence = 2}, &ahead);
    PutAhead({.epoch = 3, .sequence = 5, .mutations = std::string(ahead.mutations())}, batch);
  });
  RepairReport report;
  ASSERT_OK(Repair(store_, into_, &report));
  EXPECT_EQ(LinesOf(report.losses), "");
  std::unique_ptr<Reader> reader;
  ASSERT_OK(OpenReader(into_, &reader));
  std::string keys;
  ASSERT_OK(ScanPending(*reader, 1, [&keys](const PendingRecord& record) {
    keys += std::string(record.key) + " ";
    return true;
  }));
  EXPECT_EQ(keys, "added-since ");
  ReplicationRecord replication;
  EXPECT_STATUS(kNotFound, "", GetReplication(*reader, &replication));
}

// Draws damages of every kind.
class Damages {
 public:
  explicit Damages(uint64_t seed) : random_(seed) {}

  DamagedStore Draw() {
    DamagedStore damaged;
    const bool ages = Below(2) == 0;
    const std::vector<TemplateStore>& of = ages ? ages_ : stores_;
    const size_t now = Below(of.size());
    damaged.sound = &of[now];
    damaged.what = of[now].name;
    damaged.files = of[now].files;
    const size_t count = 1 + Below(6);
    damaged.is_mix = count > 2;
    for (size_t damages = count; damages > 0 && !damaged.files.empty(); --damages) {
      const bool is_earlier = ages && now > 0 && Below(3) > 0;
      const TemplateStore& other = is_earlier ? ages_[Below(now)] : Any();
      switch (Below(5)) {
        case 0:
          DamageBytes(&damaged);
          break;
        case 1:
          Remove(&damaged);
          break;
        case 2:
          Replace(other, {}, &damaged);
          break;
        case 3:
          Replace(other, ".ring", &damaged);
          break;
        default:
          // All that is left of the store may be a log; if FORMAT is damaged, too, nothing tells.
          damaged.is_mix |= !is_earlier && count > 1;
          ReplaceAllBut(other, ".ring", &damaged);
          break;
      }
    }
    return damaged;
  }

 private:
  size_t Below(size_t bound) { return random_() % bound; }
  const TemplateStore& Any() {
    return Below(2) == 0 ? stores_[Below(stores_.size())] : ages_[Below(ages_.size())];
  }
  Files::iterator AnyOf(Files* files) {
    return std::next(files->begin(), static_cast<ptrdiff_t>(Below(files->size())));
  }
  void DamageBytes(DamagedStore* damaged) {
    const auto file = AnyOf(&damaged->files);
    auto& [name, contents] = *file;
    if (contents.empty() || name == "FORMAT") return;  // Another version in it is no damage.
    const size_t at = Below(contents.size());
    const bool cut = Below(2) == 0;
    damaged->what += ", " + name + (cut ? " cut to " : " flipped at ") + std::to_string(at);
    if (cut) {
      contents.resize(at);
    } else {
      contents[at] ^= static_cast<char>(1U << Below(8));
    }
  }
  void Remove(DamagedStore* damaged) {
    const auto file = AnyOf(&damaged->files);
    damaged->what += ", without " + file->first;
    damaged->files.erase(file);
  }
  // One file whose name ends so is, or is added, as another store or an earlier instant has it.
  void Replace(const TemplateStore& other, std::string_view suffix, DamagedStore* damaged) {
    Files candidates = other.files;
    std::erase_if(candidates, [&](const auto& file) { return !file.first.ends_with(suffix); });
    if (candidates.empty()) return;
    const auto file = AnyOf(&candidates);
    damaged->what += ", " + file->first + " of " + other.name;
    damaged->files[file->first] = file->second;
  }
  void ReplaceAllBut(const TemplateStore& other, std::string_view suffix, DamagedStore* damaged) {
    damaged->what += ", all but *" + std::string(suffix) + " of " + other.name;
    std::erase_if(damaged->files, [&](const auto& file) { return !file.first.ends_with(suffix); });
    for (const auto& [name, contents] : other.files) {
      if (!name.ends_with(suffix)) damaged->files[name] = contents;
    }
  }

  const std::vector<TemplateStore> stores_ = AllTemplateStores();
  const std::vector<TemplateStore> ages_ = MakeAgingLoggedStore();
  std::mt19937_64 random_;
};

TEST_F(AgreementTest, WhatVerifyRefusesIsSavedWholeOrALossIsReported) {
  const uint64_t seed = support::Seed();
  std::cout << "replay with WQ_SEED=" << seed << std::endl;
  Damages damages(seed);
  for (int cases = 0; cases < 60; ++cases) {
    Check(damages.Draw());
    if (HasFailure()) break;
  }
  std::cout << refused_ << " refused, " << accepted_ << " accepted\n";
  EXPECT_GT(refused_, 5U);
}

}  // namespace
}  // namespace wq::storage
