// Power cuts while a store works, at any of the calls that it makes on its files. What was synced
// survives, the rest is dropped, torn or undone; the oracle judges the store that is left.
//
// A scenario is run once, on a disk that records every change. From the record the directories are
// created that a cut may leave, and opened. So a cut costs one opening. What was acknowledged at
// kPower must survive, and of the rest a prefix that ends at or after the last flush.
//
// Each scenario draws the buffers of its store and what its calls are like (tests/support/draw.h,
// StoreSource). After a cut the process log is one of another boot.
//
// WQ_SEED is the seed (a failing run prints its own), WQ_POWER_CUTS the number of cuts.
// WQ_POWER_EVERY=1 cuts at every call of each scenario.

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "storage/open.h"
#include "tests/support/draw.h"
#include "tests/support/environment.h"
#include "tests/support/oracle.h"
#include "tests/support/real_store.h"
#include "tests/support/recording_disk.h"

namespace wq::support {
namespace {

// A store's calls, each with the range of calls on files that it made.
struct Scenario {
  struct Made {
    StoreCall call;
    std::string result;
    uint64_t begun = 0;     // The calls on files when it began.
    uint64_t returned = 0;  // The calls on files when it returned.
  };
  std::vector<Made> calls;
  Durability level = Durability::kProcess;
  Buffers drawn;
  std::unique_ptr<RecordingDisk> disk;

  Life LifeUntil(uint64_t file_calls) const {
    Life life{.calls = {}, .results = {}, .level = level, .crash = CrashKind::kPowerCut};
    for (const Made& made : calls) {
      if (made.begun > file_calls) {
        break;
      }
      life.calls.push_back(made.call);
      if (made.returned <= file_calls) {
        life.results.push_back(made.result);
      }
    }
    return life;
  }
};

class PowerCutTest : public ::testing::Test {
 protected:
  // Makes WQ_POWER_CUTS / share cuts.
  void Run(uint64_t share, const std::vector<Unsynced>& kinds);
  void Play(const std::string& dir, Scenario* scenario);
  void Cut(const Scenario& scenario, uint64_t file_calls, Unsynced unsynced);
  void OpenAgain(const std::string& dir, const StoreImage& found);
  void ExpectRefusedForUnsynced(const Status& refusal, const RecordingDisk::Left& left) const;

  void BeginStore();
  uint64_t stores_ = 0;
  uint64_t scenarios_ = 0;
  std::vector<QueueRules> rules_;
  std::mt19937_64 random_;
  ScratchDirectory root_;
  std::optional<Oracle> oracle_;      // Of the state at the scenario's beginning.
  std::optional<Oracle> afterwards_;  // Of the last cut.
  std::string last_cut_;
  uint64_t cuts_ = 0;
  uint64_t acknowledged_ = 0;
  uint64_t lost_bytes_ = 0;
  uint64_t undone_names_ = 0;
  uint64_t lost_pages_ = 0;
  uint64_t refused_ = 0;
};

void PowerCutTest::Play(const std::string& dir, Scenario* scenario) {
  // In turn, so that a short run has both.
  scenario->level = scenarios_++ % 2 == 0 ? Durability::kProcess : Durability::kAsync;
  scenario->disk = std::make_unique<RecordingDisk>(dir);
  RecordingDisk& disk = *scenario->disk;
  StoreSource source(rules_, random_(), {.flushes = 15, .power_calls = 100, .reopens = false});
  RealStore store(rules_, oracle_->wall_us());
  // One write-ahead log holds all: of two, a cut can leave the first without its end, which was not
  // synced, and records of the second. An opening refuses such a store. And a process log, if there
  // is one, holds each batch: of one that does not fit, and whose write was not synced, a cut can
  // leave the batches behind it.
  scenario->drawn = {.process_log_bytes = random_() % 3 == 0 ? 0 : StoreOptions().process_log_bytes,
                     .write_buffer_bytes = StoreOptions().write_buffer_bytes,
                     .max_wal_bytes = StoreOptions().max_wal_bytes};
  const Status opened = store.Open(dir, scenario->level, scenario->drawn);
  ASSERT_TRUE(opened.ok()) << opened.ToString();
  const uint64_t count = 20 + random_() % 300;
  for (uint64_t i = 0; i < count; ++i) {
    Scenario::Made made{.call = source.Next(), .result = "", .begun = disk.calls()};
    made.result = store.Do(made.call);
    ASSERT_NE(made.result, kNotDurable) << "no disk fails: " << scenario->drawn.ToString();
    made.returned = disk.calls();
    scenario->calls.push_back(std::move(made));
  }
}

// An owner can open the store that is left, too, and does not change its contents.
void PowerCutTest::OpenAgain(const std::string& dir, const StoreImage& found) {
  std::unique_ptr<storage::Storage> storage;
  storage::OpenOptions options;
  options.create_if_missing = true;  // The cut may have been before the store existed.
  Status s = storage::OpenStorage(dir, options, &storage);
  ASSERT_TRUE(s.ok()) << s.ToString();
  s = storage->Close();
  ASSERT_TRUE(s.ok()) << s.ToString();
  StoreImage again;
  s = ReadStore(dir, rules_, &again);
  ASSERT_TRUE(s.ok()) << s.ToString();
  ASSERT_TRUE(again == found) << "the owner's opening changed the contents";
}

// A file in which zeros replace bytes that were never synced, in front of bytes that survived, may
// be refused, since damage to synced bytes could look the same. But it must not be refused for a
// place that was synced.
void PowerCutTest::ExpectRefusedForUnsynced(const Status& refusal,
                                            const RecordingDisk::Left& left) const {
  const std::string text = refusal.ToString();
  ASSERT_EQ(refusal.code(), StatusCode::kCorruption) << text;
  const bool names_one = std::any_of(left.files.begin(), left.files.end(), [&](const auto& file) {
    return file.second.synced < file.second.size && text.find("/" + file.first) != text.npos;
  });
  EXPECT_TRUE(names_one) << text;
  const size_t at = text.find(".log, offset ");
  if (at != std::string::npos) {
    const size_t slash = text.rfind('/', at);
    const auto log = left.files.find(text.substr(slash + 1, at + 4 - slash - 1));
    ASSERT_NE(log, left.files.end()) << text;
    EXPECT_GE(std::stoull(text.substr(at + 13)), log->second.synced) << text;
  }
}

void PowerCutTest::Cut(const Scenario& scenario, uint64_t file_calls, Unsynced unsynced) {
  const std::string where = "cut " + std::to_string(cuts_) + ", after call " +
                            std::to_string(file_calls) + " on files, unsynced bytes " +
                            std::to_string(static_cast<int>(unsynced)) + ", " +
                            scenario.drawn.ToString();
  SCOPED_TRACE(where);
  const std::string dir = root_ / ("cut-" + std::to_string(cuts_++));
  const RecordingDisk::Left left = scenario.disk->Cut(file_calls, unsynced, &random_, dir);
  lost_bytes_ += left.unsynced_bytes;
  undone_names_ += left.undone_names;
  lost_pages_ += left.lost_pages;
  StoreImage found;
  const Status read = ReadStore(dir, rules_, &found);
  if (unsynced == Unsynced::kHoles && !read.ok()) {
    ++refused_;
    ExpectRefusedForUnsynced(read, left);
    std::filesystem::remove_all(dir);
    return;
  }
  ASSERT_TRUE(read.ok()) << read.ToString();
  const Life life = scenario.LifeUntil(file_calls);
  acknowledged_ += life.results.size();
  Oracle oracle = *oracle_;
  ASSERT_EQ(oracle.Judge(life, found), "");
  OpenAgain(dir, found);
  if (!last_cut_.empty()) {
    std::filesystem::remove_all(last_cut_);
  }
  last_cut_ = dir;
  afterwards_.emplace(oracle);
}

void PowerCutTest::BeginStore() {
  rules_ = PoliciesOf(stores_++);
  oracle_.emplace(rules_, kStartWallUs);
}

void PowerCutTest::Run(uint64_t share, const std::vector<Unsynced>& kinds) {
  const uint64_t seed = support::Seed();
  const uint64_t every = FromEnvironment("WQ_POWER_EVERY", 0);
  uint64_t cuts = FromEnvironment("WQ_POWER_CUTS", 160);
  std::cout << "replay with WQ_SEED=" << seed << " WQ_POWER_CUTS=" << cuts << "\n";
  cuts /= share;
  random_.seed(seed);
  BeginStore();
  std::string dir = root_ / "store";
  while (cuts_ < cuts && !HasFatalFailure()) {
    Scenario scenario;
    Play(dir, &scenario);
    // Close is recorded, too, so a cut may be during it.
    const uint64_t calls = scenario.disk->calls();
    // At most 40 cuts in a scenario, so that a short run has several.
    const uint64_t step = every > 0 ? every : 1 + calls / 40 + random_() % (1 + calls / 20);
    for (uint64_t at = every > 0 ? 0 : random_() % step;
         at <= calls && cuts_ < cuts && !HasFatalFailure(); at += step) {
      Cut(scenario, at, kinds[random_() % kinds.size()]);
    }
    scenario.disk.reset();
    std::filesystem::remove_all(dir);
    if (afterwards_ && random_() % 4 != 0) {  // The last cut's store is used next.
      dir = std::exchange(last_cut_, "");
      oracle_.emplace(*afterwards_);
    } else {
      dir = root_ / ("store-" + std::to_string(cuts_));
      BeginStore();
    }
  }
  std::cout << "total: " << cuts_ << " power cuts, " << acknowledged_
            << " calls acknowledged before, " << lost_bytes_ << " unsynced bytes lost, "
            << undone_names_ << " names undone, " << lost_pages_ << " pages of process logs lost, "
            << refused_ << " refused for unsynced zeros\n";
}

TEST_F(PowerCutTest, WhatWasSyncedSurvives) {
  Run(1, {Unsynced::kDropped, Unsynced::kKept, Unsynced::kTorn});
}

// Some file systems leave zeros, if a file's length reached the disk before its bytes. At the end
// of a file they are no reason to refuse it.
TEST_F(PowerCutTest, ZerosMayReplaceWhatWasNotSynced) {
  Run(4, {Unsynced::kZeroed, Unsynced::kHoles});
}

// How much the cuts above lose depends on the threads of the stores. So this shows that a cut does
// lose what was not synced: bytes, names, and pages of a file whose space was allocated.
TEST(RecordingDiskTest, ACutLosesWhatWasNotSynced) {
  using Kind = FileCall::Kind;
  const ScratchDirectory root;
  RecordingDisk disk(root.path());
  const std::string file = root / "file";
  const std::string paged = root / "paged";
  const std::string page(4096, 'x');
  disk.Record({Kind::kCreate, file});
  disk.Record({Kind::kCreate, paged});
  disk.Record({Kind::kAppend, file, {}, "synced", 0});
  disk.Record({Kind::kSync, file, {}, {}, 6});
  disk.Record({Kind::kAllocate, paged, {}, {}, page.size()});
  disk.Record({Kind::kSyncDirectory, root.path()});
  disk.Record({Kind::kAppend, file, {}, " and not", 6});
  disk.Record({Kind::kAppend, paged, {}, page, 0});
  ASSERT_EQ(disk.calls(), 8U);
  std::mt19937_64 random(1);
  uint64_t undone_names = 0;
  uint64_t lost_pages = 0;
  for (int cut = 0; cut < 20; ++cut) {
    const std::string to = root / ("cut-" + std::to_string(cut));
    undone_names += disk.Cut(2, Unsynced::kDropped, &random, to + "-early").undone_names;
    const RecordingDisk::Left left = disk.Cut(8, Unsynced::kDropped, &random, to);
    lost_pages += left.lost_pages;
    EXPECT_EQ(left.undone_names, 0U);
    EXPECT_GE(left.unsynced_bytes, 8U);
    EXPECT_EQ(std::filesystem::file_size(to + "/file"), 6U);
  }
  EXPECT_GT(undone_names, 0U);
  EXPECT_GT(lost_pages, 0U);
}

}  // namespace
}  // namespace wq::support
