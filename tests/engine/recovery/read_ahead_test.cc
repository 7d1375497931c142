#include "engine/recovery/read_ahead.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "storage/records.h"

namespace wq {
namespace {

constexpr storage::QueueId kReadQueue = 7;

// A queue with `count` records of each kind, in memory. The scan of one column family may end with
// an error.
class Records final : public storage::Reader {
 public:
  explicit Records(size_t count) {
    storage::MutationBatch batch;
    for (size_t i = 0; i < count; ++i) {
      const std::string key = "key-" + std::to_string(100'000 + i);
      const std::string text(i % 300, 'x');
      const auto time = static_cast<int64_t>(i);
      storage::PutPending(kReadQueue, {.key = key, .sequence = count - i, .group = text}, &batch);
      storage::PutDelayed(kReadQueue, {.key = key, .ready_at_us = time, .group = text}, &batch);
      storage::PutFailures(kReadQueue, {.key = key, .count = i, .last_error = text}, &batch);
      storage::PutQuarantine(
          kReadQueue, {.failures = {.key = key, .count = i, .last_error = text}, .group = text},
          &batch);
      storage::PutCursor(kReadQueue, {.name = key, .value = text}, &batch);
    }
    batch.ForEach(
        [this](const storage::Mutation& put) { rows_[put.family].emplace(put.key, put.value); });
  }
  void FailAfter(storage::Family family) { failing_ = family; }

  Status Get(storage::Family, std::string_view, std::string*) const override {
    return Status::NotFound("no Get is expected");
  }
  Status Scan(storage::Family family, std::string_view begin, std::string_view end,
              const Visitor& visit) const override {
    const auto rows = rows_.find(family);
    if (rows != rows_.end()) {
      for (auto row = rows->second.lower_bound(begin);
           row != rows->second.end() && (end.empty() || row->first < end); ++row) {
        if (!visit(row->first, row->second)) {
          return {};
        }
      }
    }
    return family == failing_ ? Status::Corruption("here") : Status::Ok();
  }

 private:
  std::map<storage::Family, std::map<std::string, std::string, std::less<>>> rows_;
  storage::Family failing_ = storage::Family::kDefault;
};

// Checks each record that was read, and counts them by kind, in the order of the kinds.
struct Checked {
  std::vector<size_t> counts = std::vector<size_t>(5);
  size_t last_kind = 0;

  void Check(const storage::QuarantineRecord& record) {
    EXPECT_EQ(record.failures.last_error, record.group);
    CheckText(record.failures.key, record.group);
  }
  // In the order of sequences, which is the reverse of the order of keys.
  void Check(const storage::PendingRecord& record) {
    EXPECT_EQ(record.sequence, counts[1] + 1);
    EXPECT_EQ(record.group, std::string(record.group.size(), 'x'));
  }
  void Check(const storage::DelayedRecord& record) { CheckText(record.key, record.group); }
  void Check(const storage::FailureRecord& record) { CheckText(record.key, record.last_error); }
  void Check(const storage::CursorRecord& record) { CheckText(record.name, record.value); }
  void CheckText(std::string_view key, std::string_view text) {
    EXPECT_EQ(key, "key-" + std::to_string(100'000 + counts[last_kind]));
    EXPECT_EQ(text, std::string(counts[last_kind] % 300, 'x'));
  }

  void Check(const ReadAhead::Chunk& chunk) {
    EXPECT_GE(chunk.records.index(), last_kind);
    last_kind = chunk.records.index();
    std::visit(
        [this](const auto& records) {
          EXPECT_FALSE(records.empty());
          for (const auto& record : records) {
            Check(record);
            ++counts[last_kind];
          }
        },
        chunk.records);
  }
};

TEST(ReadAhead, GivesEveryRecordOnceAndInOrder) {
  for (const size_t count : {0U, 1U, 10U, 5000U}) {
    const Records records(count);
    ReadAhead ahead(records, kReadQueue);
    ReadAhead::Chunk chunk;
    Checked checked;
    while (ahead.Next(&chunk)) {
      checked.Check(chunk);
    }
    EXPECT_TRUE(ahead.status().ok());
    EXPECT_EQ(checked.counts, std::vector<size_t>(5, count));
  }
}

TEST(ReadAhead, ReportsAnErrorAfterTheRecordsBeforeIt) {
  Records records(3000);
  records.FailAfter(storage::Family::kDelayed);
  ReadAhead ahead(records, kReadQueue);
  ReadAhead::Chunk chunk;
  Checked checked;
  while (ahead.Next(&chunk)) {
    checked.Check(chunk);
  }
  EXPECT_EQ(ahead.status().code(), StatusCode::kCorruption);
  EXPECT_EQ(ahead.status().message(), "here");
  EXPECT_EQ(checked.counts, (std::vector<size_t>{3000, 3000, 3000, 0, 0}));
}

TEST(ReadAhead, EndsBeforeAllChunksAreTaken) {
  const Records records(5000);
  for (const size_t chunks : {0U, 1U, 2U, 20U}) {
    ReadAhead ahead(records, kReadQueue);
    ReadAhead::Chunk chunk;
    for (size_t i = 0; i < chunks; ++i) {
      EXPECT_TRUE(ahead.Next(&chunk));
    }
  }
}

}  // namespace
}  // namespace wq
