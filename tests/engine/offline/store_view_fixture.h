// StoreViewTest: a store whose records are written directly: also those that only a killed owner
// leaves.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "storage/open.h"
#include "storage/records.h"
#include "tests/support/environment.h"
#include "wq/store_view.h"

namespace wq {

inline constexpr storage::QueueId kPods = 7;

// "pending a 0 #3", "delayed b -100 @200+50", "failing c", "quarantined d 0 @700"; with a group
// "/g" after the key, with failures " x2 (why)" at the end.
inline std::string Render(const Entry& entry) {
  const std::string key = entry.key + (entry.group.empty() ? "" : "/" + entry.group);
  const std::string placed = key + " " + std::to_string(entry.lane);
  std::string text;
  switch (entry.state) {
    case EntryState::kPending:
      text = "pending " + placed + " #" + std::to_string(entry.sequence);
      break;
    case EntryState::kDelayed:
      text = "delayed " + placed + " @" + std::to_string(entry.ready_at_us) + "+" +
             std::to_string(entry.delay_us);
      break;
    case EntryState::kFailing:
      text = "failing " + key;
      break;
    case EntryState::kQuarantined:
      text = "quarantined " + placed + " @" + std::to_string(entry.quarantined_at_us);
      break;
  }
  if (entry.failures) {
    text += " x" + std::to_string(entry.failures->count) + " (" + entry.failures->last_error + ")";
  }
  return text;
}

class StoreViewTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(
        storage::OpenStorage(dir_, {.create_if_missing = true, .now_us = 1'000}, &owner_).ok());
    QueueExists("pods", kPods);
  }

  void TearDown() override {
    view_.reset();
    owner_.reset();
  }

  void QueueExists(const std::string& name, storage::QueueId id) {
    storage::PutQueue({.name = name, .id = id, .created_at_us = 1'000}, &batch_);
  }
  void Pending(std::string_view key, uint64_t sequence, Lane lane = kFastLane,
               int64_t added_at_us = 5'000, storage::QueueId queue = kPods,
               std::string_view group = {}) {
    storage::PutPending(queue,
                        {.key = key,
                         .lane = lane,
                         .sequence = sequence,
                         .added_at_us = added_at_us,
                         .group = group},
                        &batch_);
  }
  void PendingOf(std::string_view group, std::string_view key, uint64_t sequence) {
    Pending(key, sequence, kFastLane, 5'000, kPods, group);
  }
  void Delayed(std::string_view key, int64_t ready_at_us, Lane lane = kFastLane,
               std::string_view group = {}) {
    storage::PutDelayed(kPods,
                        {.key = key,
                         .ready_at_us = ready_at_us,
                         .delay_us = 50,
                         .added_at_us = ready_at_us - 50,
                         .lane = lane,
                         .group = group},
                        &batch_);
  }
  void Failing(std::string_view key, uint64_t count, std::string_view error = "why") {
    storage::PutFailures(
        kPods,
        {.key = key, .count = count, .first_at_us = 10, .last_at_us = 20, .last_error = error},
        &batch_);
  }

  void Quarantined(std::string_view key, uint64_t count, int64_t at_us, Lane lane = kFastLane,
                   std::string_view group = {}) {
    storage::PutQuarantine(kPods,
                           {.failures = {.key = key,
                                         .count = count,
                                         .first_at_us = 10,
                                         .last_at_us = 20,
                                         .last_error = "worst"},
                            .quarantined_at_us = at_us,
                            .lane = lane,
                            .group = group},
                           &batch_);
  }
  void Cursor(std::string_view name, std::string_view value) {
    storage::PutCursor(kPods, {.name = name, .value = value}, &batch_);
  }

  // Writes the batch and opens a view of the store, beside the owner.
  void View() {
    ASSERT_TRUE(owner_->Write(batch_, false).ok());
    batch_.Clear();
    const Status s = StoreView::Open(dir_, &view_);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }

  std::vector<std::string> Entries(std::string_view queue = "pods") {
    std::vector<std::string> entries;
    const Status s = view_->ForEachEntry(queue, [&](const Entry& entry) {
      entries.push_back(Render(entry));
      return true;
    });
    if (!s.ok()) entries.push_back(s.ToString());
    return entries;
  }

  std::vector<std::string> Found(std::string_view key) {
    std::vector<Entry> entries;
    const Status s = view_->Find("pods", key, &entries);
    std::vector<std::string> rendered;
    for (const Entry& entry : entries) rendered.push_back(Render(entry));
    if (!s.ok()) rendered.push_back(s.ToString());
    return rendered;
  }

  QueueSummary Summary(const SummaryOptions& options = {}) {
    QueueSummary summary;
    const Status s = view_->Summarize("pods", options, &summary);
    EXPECT_TRUE(s.ok()) << s.ToString();
    return summary;
  }

  const support::ScratchDirectory root_;
  const std::string dir_ = root_ / "store";
  storage::MutationBatch batch_;
  std::unique_ptr<storage::Storage> owner_;
  std::unique_ptr<StoreView> view_;
};

}  // namespace wq
