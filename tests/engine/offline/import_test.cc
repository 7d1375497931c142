// Importer: whole queues, all or none, and no rows that an opening refuses.
#include "wq/internal/import.h"

#include <string>

#include <gmock/gmock.h>

#include "engine/offline/import_check.h"
#include "storage/row_rules.h"
#include "tests/engine/offline/store_view_fixture.h"
#include "tests/support/environment.h"
#include "wq/clock.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace wq {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

QueueInfo InfoOf(const std::string& name, uint64_t sequence_high_water = 0) {
  QueueInfo info;
  info.name = name;
  info.sequence_high_water = sequence_high_water;
  return info;
}

class ImportTest : public testing::Test {
 protected:
  void TearDown() override { importer_.reset(); }

  void Open(const ImportOptions& options = {}) {
    importer_.reset();
    const Status s = Importer::Open(options, dir_, &importer_);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  void Finish() {
    const Status s = importer_->Finish();
    ASSERT_TRUE(s.ok()) << s.ToString();
    importer_.reset();
  }
  Status Add(const std::string& key, EntryState state, uint64_t failures = 0,
             uint64_t sequence = 0) {
    Entry entry;
    entry.key = key;
    entry.state = state;
    entry.sequence = sequence;
    if (failures > 0 || state == EntryState::kQuarantined) {
      entry.failures = FailureInfo{failures, 1, 2, "why"};
    }
    return importer_->Add("pods", entry);
  }
  void Added(const std::string& key, EntryState state, uint64_t failures = 0,
             uint64_t sequence = 0) {
    const Status s = Add(key, state, failures, sequence);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  void Refused(const std::string& why, const std::string& key, EntryState state,
               uint64_t failures = 0) {
    const Status s = Add(key, state, failures);
    EXPECT_EQ(s.code(), StatusCode::kInvalidArgument) << s.ToString();
    EXPECT_THAT(s.message(), HasSubstr(why));
  }

  std::vector<std::string> Names() {
    std::unique_ptr<StoreView> view;
    return StoreView::Open(dir_, &view).ok() ? view->QueueNames() : std::vector<std::string>{};
  }
  std::vector<std::string> Entries() {
    std::unique_ptr<StoreView> view;
    std::vector<std::string> entries;
    Status s = StoreView::Open(dir_, &view);
    if (s.ok()) {
      s = view->ForEachEntry("pods", [&](const Entry& entry) {
        entries.push_back(Render(entry));
        return true;
      });
    }
    if (!s.ok()) entries.push_back(s.ToString());
    return entries;
  }
  // The counts after an opening of the queue.
  QueueCounts Recovered() {
    std::unique_ptr<Store> store;
    Queue* queue = nullptr;
    Status s = Store::Open({}, dir_, &store);
    if (s.ok()) s = store->OpenQueue("pods", {.order = Order::kPriorities}, &queue);
    EXPECT_TRUE(s.ok()) << s.ToString();
    return s.ok() ? queue->Counts() : QueueCounts{};
  }

  const support::ScratchDirectory root_;
  const std::string dir_ = root_ / "store";
  std::unique_ptr<Importer> importer_;
};

// What no opening could number further: a dump is numbered anew, and a key alone is refused.
TEST_F(ImportTest, SequencesThatLeaveNoRoom) {
  Open();
  const Status refused = Add("k", EntryState::kPending, 0, storage::kMaxImportedSequence + 1);
  EXPECT_EQ(refused.ToString(), "InvalidArgument: key 'k' has a sequence that is out of range");
  for (const uint64_t high_water : {storage::kMaxImportedSequence + 1, storage::kMaxSequence + 1}) {
    Open({.replace = true});
    ASSERT_TRUE(importer_->SetQueue(InfoOf("pods", high_water)).ok());
    Added("b", EntryState::kPending, 0, high_water - 2);
    Added("a", EntryState::kPending, 0, high_water - 1);
    Finish();
    EXPECT_THAT(Entries(), ElementsAre("pending b 0 #1", "pending a 0 #2"));
  }
}

TEST_F(ImportTest, EveryState) {
  Open();
  Added("q", EntryState::kQuarantined, 3);
  Added("d", EntryState::kDelayed, 2);
  Added("f", EntryState::kFailing, 1);
  Added("b", EntryState::kPending, 0, 9);
  Added("a", EntryState::kPending, 1, 7);
  Added("c", EntryState::kPending);  // After all before it.
  ASSERT_TRUE(importer_->SetCursor("pods", "offset", "41").ok());
  EXPECT_EQ(importer_->counts().entries, 6U);
  Finish();
  EXPECT_THAT(Entries(), ElementsAre("pending a 0 #7 x1 (why)", "pending b 0 #9", "pending c 0 #10",
                                     "delayed d 0 @0+0 x2 (why)", "failing f x1 (why)",
                                     testing::StartsWith("quarantined q 0 @")));
  const QueueCounts counts = Recovered();
  EXPECT_EQ(counts.queued, 4U);  // The delayed key has been due since 1970.
  EXPECT_EQ(counts.failing, 3U);
  EXPECT_EQ(counts.quarantined, 1U);
}

// Keys without the record of a queue, in one that is there and empty.
TEST_F(ImportTest, AnEmptyQueueStaysAsItIsAndItsKeysAreOfNow) {
  std::unique_ptr<Store> store;
  Queue* queue = nullptr;
  ASSERT_TRUE(Store::Open({.create_if_missing = true}, dir_, &store).ok());
  ASSERT_TRUE(store->OpenQueue("pods", {}, &queue).ok());
  ASSERT_TRUE(queue->Pause().ok());
  store.reset();
  const int64_t before_us = Clock::System()->WallUs();
  Open();
  Added("a", EntryState::kPending);
  Added("b", EntryState::kQuarantined);
  Finish();
  ASSERT_TRUE(Store::Open({}, dir_, &store).ok());
  ASSERT_TRUE(store->OpenQueue("pods", {}, &queue).ok());
  EXPECT_TRUE(queue->Counts().paused);
  ASSERT_TRUE(queue->Resume().ok());
  std::vector<HeldKey> keys;
  ASSERT_TRUE(queue->TryGet(10, &keys).ok());
  ASSERT_EQ(keys.size(), 1U);
  EXPECT_GE(keys.at(0).added_at_us, before_us);
  EXPECT_GE(queue->Quarantined().at(0).quarantined_at_us, before_us);
}

TEST_F(ImportTest, WithoutFinishNothingWasImported) {
  Open();
  Added("a", EntryState::kPending);
  Finish();
  Open({.replace = true});
  for (int i = 0; i < 20'000; ++i) Added("k" + std::to_string(i), EntryState::kPending);
  importer_.reset();
  EXPECT_THAT(Entries(), ElementsAre("pending a 0 #1"));
  EXPECT_THAT(Names(), ElementsAre("pods"));
}

// A dry run finds what contradicts, too. For more contradictions see row_rules_test.cc.
TEST_F(ImportTest, RefusesWhatContradicts) {
  using State = EntryState;
  for (const bool dry_run : {false, true}) {
    Open({.replace = true, .dry_run = dry_run});
    Added("p", State::kPending);
    Added("d", State::kDelayed);
    Added("q", State::kQuarantined, 1);
    Added("p", State::kDelayed, 2);  // Pending and delayed at once is valid.
    Added("q", State::kPending);     // While a worker holds it.
    Refused("delayed twice", "d", State::kDelayed);
    Refused("in quarantine twice", "q", State::kQuarantined, 1);
    Refused("both failing and quarantined", "q", State::kFailing, 1);
    EXPECT_EQ(importer_->SetQueue(InfoOf("a b")).code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(importer_->SetCursor("pods", "", "x").code(), StatusCode::kInvalidArgument);
  }
}

TEST_F(ImportTest, TheHighWaterMarkIsAboveEverySequence) {
  Open();
  ASSERT_TRUE(importer_->SetQueue(InfoOf("pods", 5)).ok());
  Added("a", EntryState::kPending, 0, 1'000'000);
  Finish();
  EXPECT_EQ(Recovered().queued, 1U);
  std::unique_ptr<StoreView> view;
  ASSERT_TRUE(StoreView::Open(dir_, &view).ok());
  QueueInfo info;
  ASSERT_TRUE(view->Info("pods", &info).ok());
  EXPECT_EQ(info.sequence_high_water, 1'000'001U);
}

// Whatever a line leaves open or says: the key does not come before its ready time.
TEST_F(ImportTest, NoDelayedKeyComesBeforeItsReadyTime) {
  constexpr int64_t kHour = 3'600'000'000;
  const int64_t now_us = Clock::System()->WallUs();
  const int64_t ready_at_us = now_us + 24 * kHour;
  Open();
  const auto add = [&](const std::string& key, int64_t added_at_us, int64_t delay_us) {
    Entry entry;
    entry.key = key;
    entry.state = EntryState::kDelayed;
    entry.added_at_us = added_at_us;
    entry.ready_at_us = ready_at_us;
    entry.delay_us = delay_us;
    return importer_->Add("pods", entry);
  };
  EXPECT_TRUE(add("only ready_at", 0, 0).ok());
  EXPECT_TRUE(add("no delay", now_us - kHour, 0).ok());
  EXPECT_TRUE(add("no begin", 0, 25 * kHour).ok());
  EXPECT_TRUE(add("all", now_us - kHour, 25 * kHour).ok());
  Finish();
  std::unique_ptr<Store> store;
  ASSERT_TRUE(Store::Open({}, dir_, &store).ok());
  Queue* queue = nullptr;
  ASSERT_TRUE(store->OpenQueue("pods", {}, &queue).ok());
  EXPECT_EQ(queue->Len(), 0U);
  EXPECT_EQ(queue->Counts().delayed, 4U);
  for (const std::string key : {"only ready_at", "no delay", "no begin", "all"}) {
    EXPECT_TRUE(queue
                    ->Inspect(key,
                              [&](const KeyInfo& info) {
                                EXPECT_GE(info.added_at_us + info.delay_us, ready_at_us) << key;
                              })
                    .ok());
  }
  EXPECT_GT(queue->Counts().next_due_us, 23 * kHour);
}

// What each row may not have: see row_rules_test.cc.
TEST_F(ImportTest, WhatNoQueueHoldsIsRefused) {
  constexpr uint64_t kTooOften = uint64_t{1} << 63;
  Entry plain;
  plain.key = "k";
  const auto delayed = [&plain](int64_t added_at_us, int64_t delay_us, int64_t ready_at_us) {
    Entry entry = plain;
    entry.state = EntryState::kDelayed;
    entry.added_at_us = added_at_us;
    entry.delay_us = delay_us;
    entry.ready_at_us = ready_at_us;
    return entry;
  };
  const auto failed = [&plain](EntryState state, uint64_t count) {
    Entry entry = plain;
    entry.state = state;
    if (count > 0 || state == EntryState::kQuarantined) entry.failures.emplace().count = count;
    return entry;
  };
  Entry keyless;
  const std::pair<Entry, const char*> cases[] = {
      {plain, ""},
      {keyless, "the key is empty"},
      {delayed(10, 5, 15), ""},
      {delayed(10, 5, 14), ""},
      {delayed(10, 5, 16),
       "is ready after its delay has ended: ready_at is later than added_at and delay_seconds"},
      {delayed(10, 5, INT64_MIN), ""},
      {delayed(INT64_MIN, 0, INT64_MAX), "is ready after"},
      {delayed(INT64_MAX, 5, INT64_MAX), ""},
      {failed(EntryState::kFailing, 0), "failing without failures"},
      {failed(EntryState::kQuarantined, 0), ""},
      {failed(EntryState::kPending, kTooOften - 1), ""},
      {failed(EntryState::kPending, kTooOften), "has 9223372036854775808 failures, more than"},
      {failed(EntryState::kQuarantined, kTooOften), "has 9223372036854775808 failures, more than"}};
  for (const auto& [entry, why] : cases) {
    const Status s = CheckImported(entry);
    EXPECT_EQ(s.ok(), std::string_view(why).empty()) << s.ToString();
    EXPECT_THAT(s.message(), HasSubstr(why));
  }
}

}  // namespace
}  // namespace wq
