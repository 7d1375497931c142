// Verify: damage that an opening refuses is found, and so are rows that break a rule. See also
// row_rules_test.cc, and agreement_test.cc for sound stores.
#include "wq/verify.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <string>

#include "refusal.h"
#include "storage/open.h"
#include "storage/record_keys.h"
#include "storage/records.h"
#include "template_store.h"
#include "tests/storage/support.h"
#include "wq/queue.h"
#include "wq/repair.h"
#include "wq/snapshot.h"
#include "wq/store.h"
#include "wq/store_view.h"

namespace wq::storage {
namespace {

class VerifyTest : public ::testing::Test {
 protected:
  std::string Found() { return FoundIn(store_); }
  // A store with one queue and these rows.
  void MakeWith(const std::function<void(MutationBatch*)>& put) {
    MakeStore(store_, [&put](MutationBatch* batch) {
      PutQueue({"pods", 1, 1}, batch);
      PutQueueState(1, {.sequence_high_water = 100}, batch);
      put(batch);
    });
  }

  const Scratch scratch_;
  const std::string store_ = scratch_ / "store";
};

// Every door has one opinion of a store: a reader, the owner, Verify, a snapshot.
TEST_F(VerifyTest, AMissingFileIsTheSameAtEveryDoor) {
  int refused = 0;
  int opened = 0;
  for (const TemplateStore& store : {MakeSmallClosedStore(), MakeSmallLoggedStore()}) {
    for (const auto& [name, contents] : store.files) {
      SCOPED_TRACE(store.name + " without " + name);
      Files files = store.files;
      files.erase(name);
      WriteStore(files, store_);
      std::unique_ptr<Reader> reader;
      const bool is_good = OpenReader(store_, &reader).ok();
      VerifyReport report;
      EXPECT_OK(Verify(store_, {}, &report));
      EXPECT_EQ(report.ok(), is_good) << LinesOf(report.findings);
      SnapshotInfo snapshot;
      const Status copied = CreateSnapshot(store_, scratch_ / "snapshots",
                                           {.name = store.name + "-" + name}, &snapshot);
      EXPECT_EQ(copied.ok(), is_good) << copied.message();
      if (!is_good && name != "FORMAT") {
        EXPECT_EQ(FaultOfRefusal(store_, {name}, copied.message()), "");
      }
      if (is_good) {
        EXPECT_OK(Verify(snapshot.path, {}, &report));
        EXPECT_EQ(LinesOf(report.findings), "");
      }
      EXPECT_TRUE(ReadStore(store_) == files) << "it changed the store";
      std::unique_ptr<Storage> storage;
      EXPECT_EQ(OpenExisting(store_, &storage).ok(), is_good);
      ++(is_good ? opened : refused);
    }
  }
  EXPECT_GT(refused, 5);
  EXPECT_GT(opened, 5);
}

// To open a pipe waits for somebody who writes to it.
TEST_F(VerifyTest, APipeInPlaceOfAFileMakesNoDoorWait) {
  std::set<std::string> kinds;
  for (const TemplateStore& store : AllTemplateStores()) {
    for (const auto& [name, contents] : store.files) {
      std::string kind = name;  // Without the numbers.
      std::erase_if(kind, [](char c) { return c >= '0' && c <= '9'; });
      if (!kinds.insert(kind).second) continue;
      SCOPED_TRACE(store.name + "/" + name);
      std::filesystem::remove_all(store_);
      WriteStore(store.files, store_);
      std::filesystem::remove(store_ + "/" + name);
      ASSERT_EQ(mkfifo((store_ + "/" + name).c_str(), 0600), 0);
      VerifyReport verified;
      std::unique_ptr<StoreView> view;
      std::unique_ptr<Store> opened;
      RepairReport repaired;
      SnapshotInfo taken;
      const Status seen = StoreView::Open(store_, &view);
      EXPECT_EQ(Verify(store_, {}, &verified).ok() && verified.ok(), seen.ok()) << seen.ToString();
      static_cast<void>(CreateSnapshot(store_, scratch_ / "snapshots", {}, &taken));
      static_cast<void>(Repair(store_, scratch_ / "repaired", &repaired));
      std::filesystem::remove_all(scratch_ / "repaired");
      static_cast<void>(Store::Open({}, store_, &opened));
    }
  }
}

// A finding names its file once, beside what is wrong with it.
TEST_F(VerifyTest, AFindingIsAtItsFile) {
  TemplateStore store = MakeSmallClosedStore();
  const auto table = std::find_if(store.files.begin(), store.files.end(),
                                  [](const auto& file) { return file.first.ends_with(".sst"); });
  ASSERT_NE(table, store.files.end());
  const std::string name = table->first;
  table->second.pop_back();
  store.files["a photo.jpg"] = "x";
  WriteStore(store.files, store_);
  const std::string found = Found();
  EXPECT_NE(found.find(store_ + "/" + name + ": " + name + " has "), std::string::npos) << found;
  EXPECT_NE(found.find(store_ + ": a photo.jpg is not a file of a store\n"), std::string::npos)
      << found;
}

// The row may be read long after the opening: the message has the same next step.
TEST_F(VerifyTest, ARowThatAViewOrAQueueRefusesHasTheNextStep) {
  MakeWith([](MutationBatch* batch) {
    std::string key;
    AppendNamedKey(1, "a", &key);
    batch->Put(Family::kFailures, key, "\xff\xff");
  });
  const auto expect_refused = [this](const Status& status) {
    EXPECT_EQ(status.code(), StatusCode::kCorruption) << status.ToString();
    const std::string next = "; run wqctl --store " + store_ + " verify, then restore";
    EXPECT_NE(status.message().find(next), std::string::npos) << status.message();
    EXPECT_EQ(status.message().find(next), status.message().rfind(next)) << status.message();
  };
  std::unique_ptr<StoreView> view;
  ASSERT_OK(StoreView::Open(store_, &view));
  QueueSummary summary;
  std::vector<Entry> entries;
  expect_refused(view->ForEachEntry("pods", [](const Entry&) { return true; }));
  expect_refused(view->ForEachFailing("pods", [](const FailingKey&) { return true; }));
  expect_refused(view->Find("pods", "a", &entries));
  expect_refused(view->Summarize("pods", {}, &summary));
  EXPECT_NE(Found().find("cannot be decoded"), std::string::npos) << Found();
  EXPECT_EQ(Found().find("; run wqctl"), std::string::npos) << Found();
  view.reset();
  std::unique_ptr<Store> store;
  ASSERT_OK(Store::Open({}, store_, &store));
  Queue* queue = nullptr;
  expect_refused(store->OpenQueue("pods", {}, &queue));
}

// Verify keeps the hashes of keys, and reads the rows of equal hashes again.
TEST_F(VerifyTest, NamesEachRepeatAmongManyKeys) {
  MakeWith([](MutationBatch* batch) {
    PutQueueState(1, {.sequence_high_water = 1'000'000}, batch);
    for (uint64_t n = 0; n < 20'000; ++n) {
      const std::string key = "k" + std::to_string(n);
      PutPending(1, {.key = key, .sequence = n}, batch);
      PutDelayed(1, {.key = key, .ready_at_us = static_cast<int64_t>(n), .delay_us = 1}, batch);
    }
    PutPending(1, {.key = "k7", .sequence = 500'000}, batch);
    PutPending(1, {.key = "k7", .lane = kSlowLane, .sequence = 500'001}, batch);
    PutPending(1, {.key = "last", .lane = 3, .sequence = 19'999}, batch);
    PutDelayed(1, {.key = "k19999", .ready_at_us = 0, .delay_us = 1}, batch);
    PutQuarantine(1, {.failures = {.key = "k100", .count = 1}}, batch);
  });
  const std::string pods = "queue pods: ";
  EXPECT_EQ(Found(), pods + "key 'last' has a sequence that another key has\n" +  //
                         pods + "key 'k7' is pending twice\n" +                   //
                         pods + "key 'k7' is pending twice\n" + pods +
                         "key 'k100' is delayed and quarantined\n" + pods +
                         "key 'k19999' is delayed twice\n");
}

// Two keys with the same std::hash of libstdc++. It mixes blocks of 8 bytes one by one, and in one
// of the keys the second block reverses the flip of the top bit by the first block.
std::vector<std::string> KeysOfOneHash() {
  constexpr uint64_t kMultiplier = (uint64_t{0xc6a4a793} << 32) + 0x5bd1e995;
  uint64_t inverse = 1;
  for (int i = 0; i < 6; ++i) inverse *= 2 - kMultiplier * inverse;
  std::vector<std::string> keys;
  for (const uint64_t top : {uint64_t{0}, uint64_t{1} << 63}) {
    std::string key;
    for (const uint64_t mixed : {uint64_t{1234}, uint64_t{5678}}) {
      uint64_t block = (mixed ^ top) * inverse;
      block = (block ^ (block >> 47)) * inverse;
      key.append(reinterpret_cast<const char*>(&block), sizeof block);
    }
    keys.push_back(key);
  }
  return keys;
}

TEST_F(VerifyTest, KeysOfOneHashAreNotOneKey) {
  const std::vector<std::string> keys = KeysOfOneHash();
  const std::hash<std::string_view> hash;
  ASSERT_NE(keys[0], keys[1]);
  ASSERT_EQ(hash(keys[0]), hash(keys[1])) << "this library has another hash";
  MakeWith([&keys](MutationBatch* batch) {
    PutPending(1, {.key = keys[0], .sequence = 5}, batch);
    PutPending(1, {.key = keys[1], .sequence = 6}, batch);
    PutDelayed(1, {.key = keys[0], .ready_at_us = 5, .delay_us = 1}, batch);
    PutFailures(1, {.key = keys[0], .count = 1}, batch);
    PutQuarantine(1, {.failures = {.key = keys[1], .count = 1}}, batch);
  });
  EXPECT_EQ(Found(), "");
}

// The memory of a report is bounded.
TEST_F(VerifyTest, CountsTheFindingsBeyondItsLimit) {
  MakeWith([](MutationBatch* batch) {
    for (int n = 0; n < 20; ++n) PutFailures(1, {.key = std::to_string(n)}, batch);
  });
  VerifyReport report;
  ASSERT_OK(Verify(store_, {.max_findings = 5}, &report));
  EXPECT_EQ(report.findings.size(), 5U);
  EXPECT_EQ(report.more_findings, 15U);
}

TEST_F(VerifyTest, WhatIsNoStoreIsNotFound) {
  VerifyReport report;
  EXPECT_STATUS(kNotFound, "no store", Verify(store_, {}, &report));
  WriteStore({{"photo.jpg", "x"}}, store_);
  EXPECT_STATUS(kNotFound, "photo.jpg", Verify(store_, {}, &report));
}

}  // namespace
}  // namespace wq::storage
