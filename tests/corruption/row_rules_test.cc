// Opening, verify, repair and import agree on the rows that break a rule.
#include <gmock/gmock.h>

#include <set>
#include <string>
#include <vector>

#include "row_rules_cases.h"
#include "storage/open.h"
#include "storage/records.h"
#include "template_store.h"
#include "tests/storage/support.h"
#include "wq/internal/import.h"
#include "wq/queue.h"
#include "wq/repair.h"
#include "wq/store.h"
#include "wq/store_view.h"
#include "wq/verify.h"

namespace wq::storage {
namespace {

using testing::HasSubstr;

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
