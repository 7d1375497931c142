// Opening, verify, repair and import agree on the rows that break a rule.
#include <gmock/gmock.h>

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/open.h"
#include "storage/record_keys.h"
#include "storage/records.h"
#include "storage/row_rules.h"
#include "template_store.h"
#include "tests/storage/support.h"
#include "wq/entry.h"
#include "wq/internal/import.h"
#include "wq/queue.h"
#include "wq/repair.h"
#include "wq/store.h"
#include "wq/store_view.h"
#include "wq/verify.h"

namespace wq::storage {
namespace {

using testing::HasSubstr;

// kSettles: it makes the rows right.
enum class Opening : uint8_t { kRefuses, kSettles, kIsUnchecked };

struct Case {
  const char* name;
  RowRule rule;
  Opening opening;
  std::function<void(MutationBatch*)> put;  // Beside the queue "pods" of id 1 and mark 100.
  std::vector<std::string> kept = {};       // Keys of "pods" that a repair keeps.
  // Calls of an Importer, of which the last one is refused. Empty: no call can make such rows.
  std::function<Status(Importer*)> import = nullptr;
};

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
std::function<Status(Importer*)> Adding(std::vector<Entry> entries) {
  return [entries = std::move(entries)](Importer* importer) {
    Status status;
    for (const Entry& entry : entries) {
      EXPECT_OK(status);
      status = importer->Add("pods", entry);
    }
    return status;
  };
}

std::function<Status(Importer*)> Changed(const std::function<void(Entry*)>& change,
                                         EntryState state = EntryState::kPending) {
  Entry entry = EntryOf("a", state);
  change(&entry);
  return Adding({entry});
}

std::function<Status(Importer*)> WithQueue(const std::function<void(QueueInfo*)>& change) {
  return [change](Importer* importer) {
    QueueInfo info;
    info.name = "pods";
    change(&info);
    return importer->SetQueue(info);
  };
}

const std::string kLongKey(kMaxKeyBytes + 1, 'k');       // NOLINT(cert-err58-cpp)
const std::string kLongGroup(kMaxGroupBytes + 1, 'g');   // NOLINT(cert-err58-cpp)
const std::string kLongError(kMaxErrorBytes + 1, 'e');   // NOLINT(cert-err58-cpp)
const std::string kLongValue(kMaxCursorBytes + 1, 'v');  // NOLINT(cert-err58-cpp)
const std::string kLongState(size_t{64} << 10, 's');     // NOLINT(cert-err58-cpp)
constexpr int64_t kLongDelay = kMaxDelay.count() + 1;

std::vector<Case> CasesOfOneRow() {
  using enum Opening;
  return {
      {"key, pending",
       RowRule::kKeyTooLong,
       kRefuses,
       [](auto* b) { PutPending(1, {.key = kLongKey, .sequence = 5}, b); },
       {},
       Changed([](Entry* e) { e->key = kLongKey; })},
      {"key, delayed", RowRule::kKeyTooLong, kRefuses,
       [](auto* b) { PutDelayed(1, {.key = kLongKey, .ready_at_us = 5, .delay_us = 1}, b); }},
      {"key, failures", RowRule::kKeyTooLong, kRefuses,
       [](auto* b) { PutFailures(1, {.key = kLongKey, .count = 1}, b); }},
      {"key, quarantine", RowRule::kKeyTooLong, kRefuses,
       [](auto* b) { PutQuarantine(1, {.failures = {.key = kLongKey}}, b); }},
      {"group, pending",
       RowRule::kGroupTooLong,
       kRefuses,
       [](auto* b) { PutPending(1, {.key = "a", .sequence = 5, .group = kLongGroup}, b); },
       {"a"},
       Changed([](Entry* e) { e->group = kLongGroup; })},
      {"group, delayed",
       RowRule::kGroupTooLong,
       kRefuses,
       [](auto* b) {
         PutDelayed(1, {.key = "a", .ready_at_us = 5, .delay_us = 1, .group = kLongGroup}, b);
       },
       {"a"},
       Changed([](Entry* e) { e->group = kLongGroup; }, EntryState::kDelayed)},
      {"group, quarantine",
       RowRule::kGroupTooLong,
       kRefuses,
       [](auto* b) { PutQuarantine(1, {.failures = {.key = "a"}, .group = kLongGroup}, b); },
       {"a"},
       Changed([](Entry* e) { e->group = kLongGroup; }, EntryState::kQuarantined)},
      {"error, failures",
       RowRule::kErrorTooLong,
       kRefuses,
       [](auto* b) { PutFailures(1, {.key = "a", .count = 1, .last_error = kLongError}, b); },
       {"a"},
       Changed([](Entry* e) { e->failures->last_error = kLongError; }, EntryState::kFailing)},
      {"error, quarantine",
       RowRule::kErrorTooLong,
       kRefuses,
       [](auto* b) { PutQuarantine(1, {.failures = {.key = "a", .last_error = kLongError}}, b); },
       {"a"},
       Changed([](Entry* e) { e->failures->last_error = kLongError; }, EntryState::kQuarantined)},
      {"negative delay",
       RowRule::kDelayRange,
       kRefuses,
       [](auto* b) { PutDelayed(1, {.key = "a", .ready_at_us = 5, .delay_us = -1}, b); },
       {"a"},
       Changed([](Entry* e) { e->delay_us = -1; }, EntryState::kDelayed)},
      {"long delay and group",
       RowRule::kGroupTooLong,
       kRefuses,
       [](auto* b) {
         PutDelayed(1, {.key = "a", .ready_at_us = 5, .delay_us = kLongDelay, .group = kLongGroup},
                    b);
       },
       {"a"},
       Changed([](Entry* e) { e->group = kLongGroup; }, EntryState::kDelayed)},
      {"long delay",
       RowRule::kDelayRange,
       kRefuses,
       [](auto* b) { PutDelayed(1, {.key = "a", .ready_at_us = 5, .delay_us = kLongDelay}, b); },
       {"a"},
       Changed([](Entry* e) { e->delay_us = kLongDelay; }, EntryState::kDelayed)},
      {"high sequences",
       RowRule::kSequenceRange,
       kRefuses,
       [](auto* b) {
         PutPending(1, {.key = "a", .sequence = UINT64_MAX}, b);
         PutPending(1, {.key = "b", .lane = kSlowLane, .sequence = kMaxSequence + 1}, b);
         PutPending(1, {.key = "c", .sequence = 5}, b);
       },
       {"a", "b", "c"},
       Changed([](Entry* e) { e->sequence = kMaxSequence + 1; })},
      {"no failures",
       RowRule::kNoFailures,
       kRefuses,
       [](auto* b) { PutFailures(1, {.key = "a"}, b); },
       {},
       Changed([](Entry* e) { e->failures->count = 0; }, EntryState::kFailing)},
      {"cursor's name", RowRule::kCursorName, kRefuses,
       [](auto* b) {
         PutCursor(1, {"a b", "v"}, b);
       }},
      {"cursor's value",
       RowRule::kCursorTooLong,
       kRefuses,
       [](auto* b) {
         PutCursor(1, {"c", kLongValue}, b);
       },
       {},
       [](Importer* i) { return i->SetCursor("pods", "c", kLongValue); }},
      {"source's name", RowRule::kSourceName, kRefuses,
       [](auto* b) { PutSource(1, {.id = 1, .name = "a b"}, b); }},
      {"an object's version",
       RowRule::kObjectRange,
       kRefuses,
       [](auto* b) {
         PutSource(1, {.id = 1, .name = "s"}, b);
         PutObject(1, {.source = 1, .object = "o", .version = kLongError}, b);
       },
       {},
       [](Importer* i) {
         EXPECT_OK(i->SetSource("pods", {"s"}));
         return i->AddObject("pods", {.source = "s", .object = "o", .version = kLongError});
       }},
      {"an object's keys", RowRule::kObjectRange, kRefuses,
       [](auto* b) {
         PutSource(1, {.id = 1, .name = "s"}, b);
         PutObject(1, {.source = 1, .object = "o", .keys = "\x05"}, b);
       }},
  };
}

std::vector<Case> CasesOfOneKey() {
  using enum Opening;
  const auto pending = [](MutationBatch* b, std::string_view key, uint64_t sequence,
                          Lane lane = kFastLane) {
    PutPending(1, {.key = key, .lane = lane, .sequence = sequence}, b);
  };
  const auto delayed = [](MutationBatch* b, int64_t at_us) {
    PutDelayed(1, {.key = "a", .ready_at_us = at_us, .delay_us = 1}, b);
  };
  const auto quarantined = [](MutationBatch* b) {
    PutQuarantine(1, {.failures = {.key = "a"}}, b);
  };
  using State = EntryState;
  return {
      {"pending in two lanes",
       RowRule::kPendingTwice,
       kRefuses,
       [=](auto* b) {
         pending(b, "a", 5);
         pending(b, "a", 6, kSlowLane);
       },
       {"a"},
       Adding({EntryOf("a", State::kPending), EntryOf("a", State::kPending)})},
      {"pending in two blocks",
       RowRule::kPendingTwice,
       kRefuses,
       [=](auto* b) {
         PutQueueState(1, {.sequence_high_water = 3 * kSequencesPerBlock}, b);
         pending(b, "a", 5);
         pending(b, "a", 5 + kSequencesPerBlock);
         pending(b, "b", 6);
       },
       {"a", "b"}},
      {"a quarantined key is pending twice",
       RowRule::kPendingTwice,
       kRefuses,
       [=](auto* b) {
         pending(b, "a", 5);
         pending(b, "a", 6, kSlowLane);
         quarantined(b);
       },
       {"a"}},
      {"delayed twice",
       RowRule::kDelayedTwice,
       kRefuses,
       [=](auto* b) {
         delayed(b, 5);
         delayed(b, 6);
       },
       {"a"},
       Adding({EntryOf("a", State::kDelayed), EntryOf("a", State::kDelayed)})},
      {"delayed and quarantined",
       RowRule::kDelayedAndQuarantined,
       kRefuses,
       [=](auto* b) {
         delayed(b, 5);
         quarantined(b);
       },
       {"a"},
       Adding({EntryOf("a", State::kDelayed), EntryOf("a", State::kQuarantined)})},
      {"quarantined and delayed",
       RowRule::kDelayedAndQuarantined,
       kRefuses,
       [=](auto* b) {
         quarantined(b);
         delayed(b, 5);
       },
       {"a"},
       Adding({EntryOf("a", State::kQuarantined), EntryOf("a", State::kDelayed)})},
      {"failing and quarantined",
       RowRule::kFailingAndQuarantined,
       kRefuses,
       [=](auto* b) {
         PutFailures(1, {.key = "a", .count = 1}, b);
         quarantined(b);
       },
       {"a"},
       Adding({EntryOf("a", State::kFailing), EntryOf("a", State::kQuarantined)})},
  };
}

std::vector<Case> CasesOfQueues() {
  using enum Opening;
  using State = EntryState;
  return {
      // An import raises the mark.
      {"above the mark",
       RowRule::kSequenceAboveMark,
       kRefuses,
       [](auto* b) { PutPending(1, {.key = "a", .sequence = 100}, b); },
       {"a"}},
      {"no state",
       RowRule::kSequenceAboveMark,
       kRefuses,
       [](auto* b) {
         PutPending(1, {.key = "a", .sequence = 5}, b);
         b->Erase(Family::kDefault, StateKey(1));
       },
       {"a"}},
      {"one sequence in a lane",
       RowRule::kSequenceTwice,
       Opening::kSettles,
       [](auto* b) {
         PutPending(1, {.key = "a", .sequence = 5}, b);
         PutPending(1, {.key = "b", .sequence = 5}, b);
       },
       {"a", "b"},
       Adding({EntryOf("a", State::kPending, 5), EntryOf("b", State::kPending, 5)})},
      {"one sequence in two lanes",
       RowRule::kSequenceTwice,
       Opening::kSettles,
       [](auto* b) {
         PutPending(1, {.key = "a", .sequence = 5}, b);
         PutPending(1, {.key = "b", .lane = kSlowLane, .sequence = 5}, b);
         PutPending(1, {.key = "c", .lane = 7, .sequence = 5}, b);
       },
       {"a", "b", "c"},
       // The first key gets the sequence 1.
       Adding({EntryOf("a", State::kPending), EntryOf("b", State::kPending, 1)})},
      {"two sources of one name",
       RowRule::kSourceTwice,
       kRefuses,
       [](auto* b) {
         PutSource(1, {.id = 1, .name = "s"}, b);
         PutSource(1, {.id = 2, .name = "s"}, b);
       },
       {},
       [](Importer* i) {
         EXPECT_OK(i->SetSource("pods", {"s"}));
         return i->SetSource("pods", {"s"});
       }},
      {"object of no source",
       RowRule::kObjectOfNoSource,
       kRefuses,
       [](auto* b) {
         PutSource(1, {.id = 1, .name = "s"}, b);
         PutObject(1, {.source = 2, .object = "o"}, b);
       },
       {},
       [](Importer* i) { return i->AddObject("pods", {.source = "s", .object = "o"}); }},
      {"mark",
       RowRule::kMarkRange,
       kRefuses,
       [](auto* b) {
         PutQueueState(1, {.sequence_high_water = UINT64_MAX}, b);
         PutPending(1, {.key = "a", .sequence = 5}, b);
       },
       {"a"},
       WithQueue([](QueueInfo* info) { info->sequence_high_water = UINT64_MAX; })},
      {"shards",
       RowRule::kShards,
       kRefuses,
       [](auto* b) {
         PutQueueState(1, {.sequence_high_water = 100, .shards = kMaxShards + 1}, b);
         PutPending(1, {.key = "a", .sequence = 5}, b);
       },
       {"a"},
       WithQueue([](QueueInfo* info) { info->shards = kMaxShards + 1; })},
      {"limiter state",
       RowRule::kLimiterStateTooLong,
       kRefuses,
       [](auto* b) {
         PutQueueState(1, {.sequence_high_water = 100, .limiter_state = kLongState}, b);
       },
       {},
       WithQueue([](QueueInfo* info) { info->limiter_state = kLongState; })},
      {"queue name", RowRule::kQueueName, kRefuses,
       [](auto* b) {
         PutQueue({"a b", 2, 1}, b);
       }},
      {"queue without an id", RowRule::kNoQueueId, kRefuses,
       [](auto* b) {
         PutQueue({"zero", 0, 1}, b);
       }},
      {"two queues of one id",
       RowRule::kQueueIdTwice,
       kRefuses,
       [](auto* b) {
         PutQueue({"twin", 1, 1}, b);
         PutPending(1, {.key = "a", .sequence = 5}, b);
       },
       {"a"}},
      {"a killed import's name of the same id",
       RowRule::kQueueIdTwice,
       kRefuses,
       [](auto* b) {
         PutQueue({"pods~loading", 1, 1}, b);
         PutPending(1, {.key = "a", .sequence = 5}, b);
       },
       {"a"}},
      {"no next token", RowRule::kNoTokens, kRefuses, [](auto* b) { PutTokens({.next = 0}, b); }},
      {"state of no queue", RowRule::kStateOfNoQueue, kIsUnchecked,
       [](auto* b) { PutQueueState(2, {.sequence_high_water = 5}, b); }},
      {"rows of no queue", RowRule::kRowsOfNoQueue, kIsUnchecked,
       [](auto* b) { PutPending(2, {.key = "a", .sequence = 5}, b); }},
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
  void MakeStore(const Case& one) {
    std::filesystem::remove_all(store_);
    std::filesystem::remove_all(into_);
    std::unique_ptr<Storage> storage;
    ASSERT_OK(OpenNew(store_, &storage));
    MutationBatch batch;
    PutQueue({"pods", 1, 1}, &batch);
    PutQueueState(1, {.sequence_high_water = 100}, &batch);
    one.put(&batch);
    ASSERT_OK(storage->Write(batch, false));
    ASSERT_OK(storage->Close());
  }
  static Status Opened(const std::string& dir) {
    std::unique_ptr<Store> store;
    Queue* queue = nullptr;
    Status status = Store::Open({}, dir, &store);
    return status.ok() ? store->OpenQueue("pods", {}, &queue) : status;
  }
  static std::string Found(const std::string& dir) {
    VerifyReport report;
    EXPECT_OK(Verify(dir, {}, &report));
    std::string text;
    for (const Finding& finding : report.findings) {
      text += finding.where + ": " + finding.what + "\n";
    }
    return text;
  }
  std::string Repaired() {
    RepairReport report;
    EXPECT_OK(Repair(store_, into_, &report));
    std::string text;
    for (const Loss& loss : report.losses) text += loss.where + ": " + loss.what + "\n";
    return text;
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
    MakeStore(one);
    EXPECT_THAT(Found(store_), HasSubstr(rule));

    EXPECT_THAT(Repaired(), HasSubstr(rule));
    EXPECT_EQ(Found(into_), "");
    std::unique_ptr<StoreView> view;
    ASSERT_OK(StoreView::Open(into_, &view));
    for (const std::string& key : one.kept) {
      std::vector<Entry> entries;
      EXPECT_OK(view->Find("pods", key, &entries));
    }
    EXPECT_OK(Opened(into_));
    EXPECT_EQ(Found(into_), "") << "after an opening";

    // Last: an opening changes the store.
    const Status opened = Opened(store_);
    if (one.opening == Opening::kRefuses) {
      EXPECT_EQ(opened.code(), StatusCode::kCorruption) << opened.ToString();
      EXPECT_THAT(opened.message(), HasSubstr(rule));
    } else {
      EXPECT_OK(opened);
    }
    if (one.opening == Opening::kSettles) {
      EXPECT_EQ(Found(store_), "");
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
  EXPECT_EQ(DescribeKey("a\n", RowRule::kPendingTwice), "key 'a\\n' is pending twice");
}

TEST_F(RowRulesTest, ARepairLeavesOutRowsOfAnEarlierVersion) {
  MakeStore({"", RowRule::kNone, Opening::kIsUnchecked, [](auto* b) {
               b->Put(Family::kDefault, std::string("limits/\0\0\0\1g", 12), "\xff");
             }});
  EXPECT_THAT(Repaired(), Not(HasSubstr("limits")));
}

// The Adds of an object may be lost.
TEST_F(RowRulesTest, ARepairThatLosesAnythingMakesAllObjectsCountAsChanged) {
  for (const bool loses : {false, true}) {
    MakeStore({"", RowRule::kNone, Opening::kIsUnchecked, [loses](auto* b) {
                 PutSource(1, {.id = 1, .name = "s"}, b);
                 PutObject(1,
                           {.source = 1,
                            .object = "o",
                            .version = "7",
                            .keys = std::string_view("\0", 1),
                            .tombstone = "t"},
                           b);
                 if (loses) PutFailures(1, {.key = "a"}, b);
               }});
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

// The name of a queue with this id would make a store that cannot be opened.
TEST_F(RowRulesTest, ARepairMakesNoQueueOfRowsWithTheIdZero) {
  MakeStore({"", RowRule::kRowsOfNoQueue, Opening::kIsUnchecked, [](auto* b) {
               PutQueueState(0, {.sequence_high_water = 9}, b);
               PutPending(0, {.key = "a", .sequence = 5}, b);
               PutDelayed(0, {.key = "b", .ready_at_us = 5, .delay_us = 1}, b);
               PutPending(1, {.key = "kept", .sequence = 5}, b);
             }});
  EXPECT_EQ(Repaired(), "queue id 0: 3 rows of no queue\n");
  EXPECT_EQ(Found(into_), "");
  EXPECT_OK(Opened(into_));
  std::unique_ptr<StoreView> view;
  ASSERT_OK(StoreView::Open(into_, &view));
  EXPECT_EQ(view->QueueNames(), (std::vector<std::string>{"pods"}));
  std::vector<Entry> entries;
  EXPECT_OK(view->Find("pods", "kept", &entries));
}

// Replacing one of the two queues would remove the rows of both.
TEST_F(RowRulesTest, AnImportIntoAStoreWithTwoQueuesOfOneIdIsRefused) {
  MakeStore({"", RowRule::kQueueIdTwice, Opening::kIsUnchecked, [](auto* b) {
               PutQueue({"pods~loading", 1, 1}, b);
               PutPending(1, {.key = "a", .sequence = 5}, b);
             }});
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
  MakeStore({"", RowRule::kRowsOfNoQueue, Opening::kIsUnchecked,
             [](auto* b) { PutDelayed(2, {.key = "a", .ready_at_us = 5, .delay_us = 1}, b); }});
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
  const Case one = {"", RowRule::kNone, Opening::kIsUnchecked, [](auto* b) {
                      PutPending(1, {.key = "a", .sequence = 5}, b);
                      PutQuarantine(1, {.failures = {.key = "a"}}, b);
                    }};
  MakeStore(one);
  EXPECT_EQ(Found(store_), "");
  EXPECT_EQ(Repaired(), "");
  EXPECT_EQ(Found(into_), "");
  EXPECT_OK(Opened(into_));
  std::unique_ptr<StoreView> view;
  ASSERT_OK(StoreView::Open(into_, &view));
  std::vector<Entry> entries;
  ASSERT_OK(view->Find("pods", "a", &entries));
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].state, EntryState::kQuarantined);
}

TEST_F(RowRulesTest, ANewQueueGetsNeitherRowsNorStateOfNoQueue) {
  for (const Case& one : CasesOfQueues()) {
    if (one.rule != RowRule::kRowsOfNoQueue && one.rule != RowRule::kStateOfNoQueue) continue;
    SCOPED_TRACE(one.name);
    MakeStore(one);
    std::unique_ptr<Store> store;
    ASSERT_OK(Store::Open({}, store_, &store));
    Queue* queue = nullptr;
    ASSERT_OK(store->OpenQueue("new", {}, &queue));
    EXPECT_EQ(queue->Len(), 0U);
    ASSERT_OK(store->Close());
    EXPECT_THAT(Found(store_), HasSubstr(std::string(TextOf(one.rule)))) << "still of no queue";
  }
}

}  // namespace
}  // namespace wq::storage
