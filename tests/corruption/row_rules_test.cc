// Opening, verify, repair and import agree on the rows that break a rule.
#include <gmock/gmock.h>

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/record_keys.h"
#include "storage/records.h"
#include "storage/row_rules.h"
#include "template_store.h"
#include "tests/storage/support.h"
#include "wq/entry.h"
#include "wq/internal/import.h"
#include "wq/queue.h"
#include "wq/repair.h"
#include "wq/source.h"
#include "wq/store.h"
#include "wq/store_view.h"
#include "wq/verify.h"

namespace wq::storage {
namespace {

using testing::HasSubstr;

// Puts a row, or erases one.
using Change = std::function<void(MutationBatch*)>;
// Calls of an Importer, of which the last one is refused.
using Import = std::function<Status(Importer*)>;

// kSettles: it makes the rows right.
enum class Opening : uint8_t { kRefuses, kSettles, kIsUnchecked };

struct Case {
  const char* name = "";
  RowRule rule = RowRule::kNone;
  Opening opening = Opening::kIsUnchecked;
  std::vector<Change> rows;       // Beside the queue "pods" of id 1 and mark 100.
  std::vector<std::string> kept;  // Keys of "pods" that a repair keeps.
  Import import;                  // Empty: no call can make such rows.
};

Case Refused(const char* name, RowRule rule, std::vector<Change> rows,
             std::vector<std::string> kept = {}, Import import = nullptr) {
  return {name, rule, Opening::kRefuses, std::move(rows), std::move(kept), std::move(import)};
}

Case Settled(const char* name, std::vector<Change> rows, std::vector<std::string> kept,
             Import import) {
  return {name,
          RowRule::kSequenceTwice,
          Opening::kSettles,
          std::move(rows),
          std::move(kept),
          std::move(import)};
}

Case Unchecked(const char* name, RowRule rule, Change row) {
  return {name, rule, Opening::kIsUnchecked, {std::move(row)}, {}, nullptr};
}

template <typename Record>
Change Putting(void (*put)(QueueId, const Record&, MutationBatch*), const Record& record,
               QueueId queue = 1) {
  return [=](MutationBatch* batch) { put(queue, record, batch); };
}
Change Pending(const PendingRecord& r, QueueId queue = 1) { return Putting(PutPending, r, queue); }
Change Delayed(const DelayedRecord& r, QueueId queue = 1) { return Putting(PutDelayed, r, queue); }
Change Failing(const FailureRecord& r) { return Putting(PutFailures, r); }
Change Quarantined(const QuarantineRecord& r) { return Putting(PutQuarantine, r); }
Change Source(const SourceRecord& r) { return Putting(PutSource, r); }
Change Object(const ObjectRecord& r) { return Putting(PutObject, r); }
Change State(const QueueStateRecord& r, QueueId queue = 1) {
  return Putting(PutQueueState, r, queue);
}
Change Named(const QueueRecord& r) {
  return [=](MutationBatch* batch) { PutQueue(r, batch); };
}

Entry EntryOf(const std::string& key, EntryState state, uint64_t sequence = 0) {
  Entry entry;
  entry.key = key;
  entry.state = state;
  entry.sequence = sequence;
  if (state == EntryState::kQuarantined || state == EntryState::kFailing) {
    entry.failures = FailureInfo{1, 1, 1, "e"};
  }
  return entry;
}

// Adds all of them; all but the last one succeed.
Import Adding(std::vector<Entry> entries) {
  return [entries = std::move(entries)](Importer* importer) {
    Status status;
    for (const Entry& entry : entries) {
      EXPECT_OK(status);
      status = importer->Add("pods", entry);
    }
    return status;
  };
}

// Adds the key "a" in both states.
Import Adding(EntryState first, EntryState second) {
  return Adding({EntryOf("a", first), EntryOf("a", second)});
}

Import Changed(EntryState state, const std::function<void(Entry*)>& change) {
  Entry entry = EntryOf("a", state);
  change(&entry);
  return Adding({entry});
}

Import WithQueue(const std::function<void(QueueInfo*)>& change) {
  QueueInfo info;
  info.name = "pods";
  change(&info);
  return [info](Importer* importer) { return importer->SetQueue(info); };
}

const std::string kLongKey(kMaxKeyBytes + 1, 'k');       // NOLINT(cert-err58-cpp)
const std::string kLongGroup(kMaxGroupBytes + 1, 'g');   // NOLINT(cert-err58-cpp)
const std::string kLongError(kMaxErrorBytes + 1, 'e');   // NOLINT(cert-err58-cpp)
const std::string kLongValue(kMaxCursorBytes + 1, 'v');  // NOLINT(cert-err58-cpp)
const std::string kLongState(size_t{64} << 10, 's');     // NOLINT(cert-err58-cpp)
constexpr int64_t kLongDelay = kMaxDelay.count() + 1;

using enum EntryState;

std::vector<Case> CasesOfOneRow() {
  using enum RowRule;
  const auto long_group = [](Entry* e) { e->group = kLongGroup; };
  const auto long_error = [](Entry* e) { e->failures->last_error = kLongError; };
  return {
      Refused("key, pending", kKeyTooLong, {Pending({.key = kLongKey, .sequence = 5})}, {},
              Changed(kPending, [](Entry* e) { e->key = kLongKey; })),
      Refused("key, delayed", kKeyTooLong,
              {Delayed({.key = kLongKey, .ready_at_us = 5, .delay_us = 1})}),
      Refused("key, failures", kKeyTooLong, {Failing({.key = kLongKey, .count = 1})}),
      Refused("key, quarantine", kKeyTooLong, {Quarantined({.failures = {.key = kLongKey}})}),
      Refused("group, pending", kGroupTooLong,
              {Pending({.key = "a", .sequence = 5, .group = kLongGroup})}, {"a"},
              Changed(kPending, long_group)),
      Refused("group, delayed", kGroupTooLong,
              {Delayed({.key = "a", .ready_at_us = 5, .delay_us = 1, .group = kLongGroup})}, {"a"},
              Changed(kDelayed, long_group)),
      Refused("group, quarantine", kGroupTooLong,
              {Quarantined({.failures = {.key = "a"}, .group = kLongGroup})}, {"a"},
              Changed(kQuarantined, long_group)),
      Refused("error, failures", kErrorTooLong,
              {Failing({.key = "a", .count = 1, .last_error = kLongError})}, {"a"},
              Changed(kFailing, long_error)),
      Refused("error, quarantine", kErrorTooLong,
              {Quarantined({.failures = {.key = "a", .last_error = kLongError}})}, {"a"},
              Changed(kQuarantined, long_error)),
      Refused("negative delay", kDelayRange,
              {Delayed({.key = "a", .ready_at_us = 5, .delay_us = -1})}, {"a"},
              Changed(kDelayed, [](Entry* e) { e->delay_us = -1; })),
      Refused(
          "long delay and group", kGroupTooLong,
          {Delayed({.key = "a", .ready_at_us = 5, .delay_us = kLongDelay, .group = kLongGroup})},
          {"a"}, Changed(kDelayed, long_group)),
      Refused("long delay", kDelayRange,
              {Delayed({.key = "a", .ready_at_us = 5, .delay_us = kLongDelay})}, {"a"},
              Changed(kDelayed, [](Entry* e) { e->delay_us = kLongDelay; })),
      Refused("high sequences", kSequenceRange,
              {Pending({.key = "a", .sequence = UINT64_MAX}),
               Pending({.key = "b", .lane = kSlowLane, .sequence = kMaxSequence + 1}),
               Pending({.key = "c", .sequence = 5})},
              {"a", "b", "c"}, Changed(kPending, [](Entry* e) { e->sequence = kMaxSequence + 1; })),
      Refused("no failures", kNoFailures, {Failing({.key = "a"})}, {},
              Changed(kFailing, [](Entry* e) { e->failures->count = 0; })),
      Refused("cursor's name", kCursorName, {Putting(PutCursor, {"a b", "v"})}),
      Refused("cursor's value", kCursorTooLong, {Putting(PutCursor, {"c", kLongValue})}, {},
              [](Importer* i) { return i->SetCursor("pods", "c", kLongValue); }),
      Refused("source's name", kSourceName, {Source({.id = 1, .name = "a b"})}),
      Refused("an object's version", kObjectRange,
              {Source({.id = 1, .name = "s"}),
               Object({.source = 1, .object = "o", .version = kLongError})},
              {},
              [](Importer* i) {
                EXPECT_OK(i->SetSource("pods", {"s"}));
                return i->AddObject("pods", {.source = "s", .object = "o", .version = kLongError});
              }),
      Refused(
          "an object's keys", kObjectRange,
          {Source({.id = 1, .name = "s"}), Object({.source = 1, .object = "o", .keys = "\x05"})}),
  };
}

std::vector<Case> CasesOfOneKey() {
  using enum RowRule;
  const auto fast = Pending({.key = "a", .sequence = 5});
  const auto slow = Pending({.key = "a", .lane = kSlowLane, .sequence = 6});
  const auto delayed = Delayed({.key = "a", .ready_at_us = 5, .delay_us = 1});
  const auto later = Delayed({.key = "a", .ready_at_us = 6, .delay_us = 1});
  const auto failing = Failing({.key = "a", .count = 1});
  const auto quarantined = Quarantined({.failures = {.key = "a"}});
  return {
      Refused("pending in two lanes", kPendingTwice, {fast, slow}, {"a"},
              Adding(kPending, kPending)),
      Refused("pending in two blocks", kPendingTwice,
              {State({.sequence_high_water = 3 * kSequencesPerBlock}), fast,
               Pending({.key = "a", .sequence = 5 + kSequencesPerBlock}),
               Pending({.key = "b", .sequence = 6})},
              {"a", "b"}),
      Refused("a quarantined key is pending twice", kPendingTwice, {fast, slow, quarantined},
              {"a"}),
      Refused("delayed twice", kDelayedTwice, {delayed, later}, {"a"}, Adding(kDelayed, kDelayed)),
      Refused("delayed and quarantined", kDelayedAndQuarantined, {delayed, quarantined}, {"a"},
              Adding(kDelayed, kQuarantined)),
      Refused("quarantined and delayed", kDelayedAndQuarantined, {quarantined, delayed}, {"a"},
              Adding(kQuarantined, kDelayed)),
      Refused("failing and quarantined", kFailingAndQuarantined, {failing, quarantined}, {"a"},
              Adding(kFailing, kQuarantined)),
  };
}

std::vector<Case> CasesOfQueues() {
  using enum RowRule;
  const auto a = Pending({.key = "a", .sequence = 5});
  const auto b = Pending({.key = "b", .sequence = 5});
  return {
      // An import raises the mark.
      Refused("above the mark", kSequenceAboveMark, {Pending({.key = "a", .sequence = 100})},
              {"a"}),
      Refused("no state", kSequenceAboveMark,
              {a, [](MutationBatch* batch) { batch->Erase(Family::kDefault, StateKey(1)); }},
              {"a"}),
      Settled("one sequence in a lane", {a, b}, {"a", "b"},
              Adding({EntryOf("a", kPending, 5), EntryOf("b", kPending, 5)})),
      // The first key of the import gets the sequence 1.
      Settled("one sequence in two lanes",
              {a, Pending({.key = "b", .lane = kSlowLane, .sequence = 5}),
               Pending({.key = "c", .lane = 7, .sequence = 5})},
              {"a", "b", "c"}, Adding({EntryOf("a", kPending), EntryOf("b", kPending, 1)})),
      Refused("two sources of one name", kSourceTwice,
              {Source({.id = 1, .name = "s"}), Source({.id = 2, .name = "s"})}, {},
              [](Importer* i) {
                EXPECT_OK(i->SetSource("pods", {"s"}));
                return i->SetSource("pods", {"s"});
              }),
      Refused("object of no source", kObjectOfNoSource,
              {Source({.id = 1, .name = "s"}), Object({.source = 2, .object = "o"})}, {},
              [](Importer* i) { return i->AddObject("pods", {.source = "s", .object = "o"}); }),
      Refused("mark", kMarkRange, {State({.sequence_high_water = UINT64_MAX}), a}, {"a"},
              WithQueue([](QueueInfo* info) { info->sequence_high_water = UINT64_MAX; })),
      Refused("shards", kShards, {State({.sequence_high_water = 100, .shards = kMaxShards + 1}), a},
              {"a"}, WithQueue([](QueueInfo* info) { info->shards = kMaxShards + 1; })),
      Refused("limiter state", kLimiterStateTooLong,
              {State({.sequence_high_water = 100, .limiter_state = kLongState})}, {},
              WithQueue([](QueueInfo* info) { info->limiter_state = kLongState; })),
      Refused("queue name", kQueueName, {Named({"a b", 2, 1})}),
      Refused("queue without an id", kNoQueueId, {Named({"zero", 0, 1})}),
      Refused("two queues of one id", kQueueIdTwice, {Named({"twin", 1, 1}), a}, {"a"}),
      Refused("a killed import's name of the same id", kQueueIdTwice,
              {Named({"pods~loading", 1, 1}), a}, {"a"}),
      Refused("no next token", kNoTokens, {[](auto* batch) { PutTokens({.next = 0}, batch); }}),
      Unchecked("state of no queue", kStateOfNoQueue, State({.sequence_high_water = 5}, 2)),
      Unchecked("rows of no queue", kRowsOfNoQueue, Pending({.key = "a", .sequence = 5}, 2)),
  };
}

std::vector<Case> AllCases() {
  std::vector<Case> cases = CasesOfOneRow();
  for (const auto& more : {CasesOfOneKey(), CasesOfQueues()}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

class RowRulesTest : public ::testing::Test {
 protected:
  // Opening, verify, repair and import of a store for each case.
  void Check(const std::vector<Case>& cases);
  void Make(const std::vector<Change>& rows) {
    std::filesystem::remove_all(into_);
    MakeStore(store_, [&rows](MutationBatch* batch) {
      PutQueue({"pods", 1, 1}, batch);
      PutQueueState(1, {.sequence_high_water = 100}, batch);
      for (const Change& put : rows) put(batch);
    });
  }
  static Status Opened(const std::string& dir) {
    std::unique_ptr<Store> store;
    Queue* queue = nullptr;
    Status status = Store::Open({}, dir, &store);
    return status.ok() ? store->OpenQueue("pods", {}, &queue) : status;
  }
  std::string Repaired() {
    RepairReport report;
    EXPECT_OK(Repair(store_, into_, &report));
    return LinesOf(report.losses);
  }
  Status Imported(const Case& one) {
    std::unique_ptr<Importer> importer;
    EXPECT_OK(Importer::Open({}, scratch_ / "imported", &importer));
    return one.import(importer.get());
  }

  const Scratch scratch_;
  const std::string store_ = scratch_ / "store";
  const std::string into_ = scratch_ / "into";
};

void RowRulesTest::Check(const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    const std::string rule(TextOf(one.rule));
    Make(one.rows);
    EXPECT_THAT(FoundIn(store_), HasSubstr(rule));

    EXPECT_THAT(Repaired(), HasSubstr(rule));
    EXPECT_EQ(FoundIn(into_), "");
    std::unique_ptr<StoreView> view;
    ASSERT_OK(StoreView::Open(into_, &view));
    for (const std::string& key : one.kept) {
      std::vector<Entry> entries;
      EXPECT_OK(view->Find("pods", key, &entries));
    }
    EXPECT_OK(Opened(into_));
    EXPECT_EQ(FoundIn(into_), "") << "after an opening";

    // Last: an opening changes the store.
    const Status opened = Opened(store_);
    if (one.opening == Opening::kRefuses) {
      EXPECT_EQ(opened.code(), StatusCode::kCorruption) << opened.ToString();
      EXPECT_THAT(opened.message(), HasSubstr(rule));
    } else {
      EXPECT_OK(opened);
    }
    if (one.opening == Opening::kSettles) {
      EXPECT_EQ(FoundIn(store_), "");
    }

    if (one.import != nullptr) {
      const Status imported = Imported(one);
      EXPECT_EQ(imported.code(), StatusCode::kInvalidArgument) << imported.ToString();
      EXPECT_THAT(imported.message(), HasSubstr(rule));
    }
  }
}

TEST_F(RowRulesTest, AllAgreeOnOneRow) { Check(CasesOfOneRow()); }
TEST_F(RowRulesTest, AllAgreeOnTheRowsOfOneKey) { Check(CasesOfOneKey()); }
TEST_F(RowRulesTest, AllAgreeOnQueues) { Check(CasesOfQueues()); }

TEST_F(RowRulesTest, EveryRuleHasACaseAndATextOfItsOwn) {
  std::set<RowRule> rules;
  for (const Case& one : AllCases()) rules.insert(one.rule);
  rules.insert(RowRule::kNone);
  rules.insert(RowRule::kQuarantinedTwice);  // A store has one such row for a key: see import_test.
  EXPECT_EQ(rules.size(), static_cast<size_t>(kRowRuleCount));
  std::set<std::string_view> texts;
  for (int rule = 0; rule < kRowRuleCount; ++rule) {
    EXPECT_TRUE(texts.insert(TextOf(static_cast<RowRule>(rule))).second) << rule;
  }
  EXPECT_EQ(DescribeRow("key", "a\n", RowRule::kPendingTwice), "key 'a\\n' is pending twice");
}

TEST_F(RowRulesTest, ARepairLeavesOutRowsOfAnEarlierVersion) {
  Make({[](MutationBatch* batch) {
    batch->Put(Family::kDefault, std::string("limits/\0\0\0\1g", 12), "\xff");
  }});
  EXPECT_THAT(Repaired(), Not(HasSubstr("limits")));
}

// They are not those of another source.
TEST_F(RowRulesTest, AViewRefusesObjectsWhoseSourceIsLost) {
  const Change first = Source({.id = 1, .name = "s"});
  const Change lost = Object({.source = 2, .object = "o"});
  for (const std::vector<Change>& changes : {std::vector{lost}, std::vector{first, lost}}) {
    std::filesystem::remove_all(store_);
    Make(changes);
    std::unique_ptr<StoreView> view;
    ASSERT_OK(StoreView::Open(store_, &view));
    EXPECT_STATUS(
        kCorruption, "object 'o'",
        view->ForEachSource(
            "pods", [](const SourceRow&) { return true; }, [](const ObjectRow&) { return true; }));
    QueueSummary summary;
    EXPECT_STATUS(kCorruption, "object 'o'", view->Summarize("pods", {}, &summary));
  }
}

// The Adds of an object may be lost.
TEST_F(RowRulesTest, ARepairThatLosesAnythingMakesAllObjectsCountAsChanged) {
  for (const bool loses : {false, true}) {
    std::vector<Change> changes = {Source({.id = 1, .name = "s"}),
                                   Object({.source = 1,
                                           .object = "o",
                                           .version = "7",
                                           .keys = std::string_view("\0", 1),
                                           .tombstone = "t"})};
    if (loses) changes.push_back(Failing({.key = "a"}));
    Make(changes);
    Repaired();
    std::unique_ptr<StoreView> view;
    ASSERT_OK(StoreView::Open(into_, &view));
    std::string rows;
    ASSERT_OK(view->ForEachSource(
        "pods", [](const SourceRow&) { return true; },
        [&rows](const ObjectRow& row) {
          rows += row.object + "=" + row.version + "," + row.tombstone;
          return row.keys.size() == 1;
        }));
    EXPECT_EQ(rows, loses ? "o=,t" : "o=7,t");
  }
}

// An older one may be found whose removal was lost.
TEST_F(RowRulesTest, ARepairKeepsTheYoungerOfTwoSourcesOfOneName) {
  Make({Source({.id = 1, .name = "s"}), Object({.source = 1, .object = "old"}),
        Source({.id = 2, .name = "s"}), Object({.source = 2, .object = "a"}),
        Object({.source = 2, .object = "b"})});
  EXPECT_THAT(Repaired(), HasSubstr("object 'old'"));
  std::unique_ptr<Store> store;
  Queue* queue = nullptr;
  ASSERT_OK(Store::Open({}, into_, &store));
  ASSERT_OK(store->OpenQueue("pods", {}, &queue));
  ASSERT_EQ(queue->Sources().size(), 1U);
  EXPECT_EQ(queue->Sources()[0].objects, 2U);
}

// The name of a queue with this id would make a store that cannot be opened.
TEST_F(RowRulesTest, ARepairMakesNoQueueOfRowsWithTheIdZero) {
  Make({State({.sequence_high_water = 9}, 0), Pending({.key = "a", .sequence = 5}, 0),
        Delayed({.key = "b", .ready_at_us = 5, .delay_us = 1}, 0),
        Pending({.key = "kept", .sequence = 5})});
  EXPECT_EQ(Repaired(), "queue id 0: 3 rows of no queue\n");
  EXPECT_EQ(FoundIn(into_), "");
  EXPECT_OK(Opened(into_));
  std::unique_ptr<StoreView> view;
  ASSERT_OK(StoreView::Open(into_, &view));
  EXPECT_EQ(view->QueueNames(), (std::vector<std::string>{"pods"}));
  std::vector<Entry> entries;
  EXPECT_OK(view->Find("pods", "kept", &entries));
}

// Replacing one of the two queues would remove the rows of both.
TEST_F(RowRulesTest, AnImportIntoAStoreWithTwoQueuesOfOneIdIsRefused) {
  Make({Named({"pods~loading", 1, 1}), Pending({.key = "a", .sequence = 5})});
  std::unique_ptr<Importer> importer;
  EXPECT_STATUS(kCorruption, "'pods~loading' has the id of queue pods",
                Importer::Open({}, store_, &importer));
  EXPECT_STATUS(kCorruption, "'pods~loading' has the id of queue pods",
                Importer::Open({.dry_run = true}, store_, &importer));
  std::unique_ptr<StoreView> view;
  ASSERT_OK(StoreView::Open(store_, &view));
  std::vector<Entry> entries;
  EXPECT_OK(view->Find("pods", "a", &entries));
}

// Rows that have lost their queue do not become rows of an imported queue.
TEST_F(RowRulesTest, AnImportUsesNoIdThatRowsHave) {
  Make({Delayed({.key = "a", .ready_at_us = 5, .delay_us = 1}, 2)});
  std::unique_ptr<Importer> importer;
  ASSERT_OK(Importer::Open({}, store_, &importer));
  ASSERT_OK(importer->Add("imported", EntryOf("b", EntryState::kPending)));
  ASSERT_OK(importer->Finish());
  importer.reset();
  std::unique_ptr<StoreView> view;
  ASSERT_OK(StoreView::Open(store_, &view));
  std::vector<std::string> keys;
  ASSERT_OK(view->ForEachEntry("imported", [&keys](const Entry& entry) {
    keys.push_back(entry.key);
    return true;
  }));
  EXPECT_EQ(keys, std::vector<std::string>{"b"});
}

// A worker may hold a key when it is quarantined. An opening removes the pending row.
TEST_F(RowRulesTest, AQuarantinedKeyMayBePending) {
  Make({Pending({.key = "a", .sequence = 5}), Quarantined({.failures = {.key = "a"}})});
  EXPECT_EQ(FoundIn(store_), "");
  EXPECT_EQ(Repaired(), "");
  EXPECT_EQ(FoundIn(into_), "");
  EXPECT_OK(Opened(into_));
  std::unique_ptr<StoreView> view;
  ASSERT_OK(StoreView::Open(into_, &view));
  std::vector<Entry> entries;
  ASSERT_OK(view->Find("pods", "a", &entries));
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].state, EntryState::kQuarantined);
}

// A deletion, or a replacement, that was killed.
TEST_F(RowRulesTest, AQueueThatIsErasedMayHaveLostItsSource) {
  for (const char* name : {"jobs~replaced", "jobs~loading"}) {
    Make({Named({name, 2, 0}), Putting(PutObject, {.source = 1, .object = "o"}, 2)});
    EXPECT_EQ(FoundIn(store_), "");
    EXPECT_EQ(Repaired(), "");
    EXPECT_OK(Opened(store_));
    EXPECT_EQ(FoundIn(store_), "");
  }
}

TEST_F(RowRulesTest, ANewQueueGetsNeitherRowsNorStateOfNoQueue) {
  for (const Case& one : CasesOfQueues()) {
    if (one.rule != RowRule::kRowsOfNoQueue && one.rule != RowRule::kStateOfNoQueue) continue;
    SCOPED_TRACE(one.name);
    Make(one.rows);
    std::unique_ptr<Store> store;
    ASSERT_OK(Store::Open({}, store_, &store));
    Queue* queue = nullptr;
    ASSERT_OK(store->OpenQueue("new", {}, &queue));
    EXPECT_EQ(queue->Len(), 0U);
    ASSERT_OK(store->Close());
    EXPECT_THAT(FoundIn(store_), HasSubstr(std::string(TextOf(one.rule)))) << "still of no queue";
  }
}

}  // namespace
}  // namespace wq::storage
