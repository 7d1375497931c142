#include "engine/offline/import_check.h"

#include <string>

#include <gmock/gmock.h>

#include "storage/row_rules.h"
#include "wq/limiter.h"

namespace wq {
namespace {

void ExpectBad(const Status& s, const std::string& why) {
  EXPECT_EQ(s.code(), StatusCode::kInvalidArgument) << s.ToString();
  EXPECT_THAT(s.message(), ::testing::HasSubstr(why));
}

TEST(ImportCheck, WhatNoQueueHoldsIsRefused) {
  const auto with = [](const auto& change) {
    Entry entry;
    entry.key = "k";
    change(&entry);
    return CheckImported(entry);
  };
  EXPECT_TRUE(with([](Entry*) {}).ok());
  ExpectBad(with([](Entry* e) { e->key.clear(); }), "the key is empty");
  ExpectBad(with([](Entry* e) { e->key.assign(kMaxKeyBytes + 1, 'k'); }), "is too long");
  ExpectBad(with([](Entry* e) { e->group.assign(kMaxGroupBytes + 1, 'g'); }),
            "a group that is too long");
  ExpectBad(with([](Entry* e) { e->sequence = UINT64_MAX; }), "a sequence that is out of range");
  ExpectBad(with([](Entry* e) { e->sequence = storage::kMaxImportedSequence + 1; }),
            "a sequence that is out of range");
  EXPECT_TRUE(with([](Entry* e) { e->sequence = storage::kMaxImportedSequence; }).ok());
  ExpectBad(with([](Entry* e) { e->delay_us = -1; }), "a delay that is out of range");
  ExpectBad(with([](Entry* e) { e->delay_us = kMaxDelay.count() + 1; }),
            "a delay that is out of range");
  const auto delayed = [](Entry* e, int64_t added_at_us, int64_t delay_us, int64_t ready_at_us) {
    e->state = EntryState::kDelayed;
    e->added_at_us = added_at_us;
    e->delay_us = delay_us;
    e->ready_at_us = ready_at_us;
  };
  EXPECT_TRUE(with([&](Entry* e) { delayed(e, 10, 5, 15); }).ok());
  EXPECT_TRUE(with([&](Entry* e) { delayed(e, 10, 5, 14); }).ok());
  ExpectBad(
      with([&](Entry* e) { delayed(e, 10, 5, 16); }),
      "is ready after its delay has ended: ready_at is later than added_at and delay_seconds");
  EXPECT_TRUE(with([&](Entry* e) { delayed(e, 10, 5, INT64_MIN); }).ok());
  ExpectBad(with([&](Entry* e) { delayed(e, INT64_MIN, 0, INT64_MAX); }), "is ready after");
  EXPECT_TRUE(with([&](Entry* e) { delayed(e, INT64_MAX, 5, INT64_MAX); }).ok());
  ExpectBad(with([](Entry* e) { e->state = EntryState::kFailing; }), "failing without failures");
  ExpectBad(with([](Entry* e) { e->failures.emplace(); }), "has failures that count none");
  ExpectBad(with([](Entry* e) {
              e->failures.emplace().count = 1;
              e->failures->last_error.assign(kMaxErrorBytes + 1, 'e');
            }),
            "a last error that is too long");
  const auto failed = [](Entry* e, EntryState state, uint64_t count) {
    e->state = state;
    e->failures.emplace().count = count;
  };
  for (const EntryState state : {EntryState::kPending, EntryState::kQuarantined}) {
    EXPECT_TRUE(with([&](Entry* e) { failed(e, state, INT64_MAX); }).ok());
    ExpectBad(with([&](Entry* e) { failed(e, state, UINT64_MAX); }),
              "has 18446744073709551615 failures, more than 9223372036854775807");
  }
  EXPECT_TRUE(with([](Entry* e) {
                e->state = EntryState::kQuarantined;
                e->failures.emplace();
              }).ok());
}

TEST(ImportCheck, QueuesAndCursors) {
  QueueInfo info;
  info.name = "q";
  EXPECT_TRUE(CheckImported(info).ok());
  info.limiter_state.assign(kMaxLimiterStateBytes + 1, 's');
  ExpectBad(CheckImported(info), "a limiter state that is too long");
  info.limiter_state.clear();
  info.sequence_high_water = UINT64_MAX;
  ExpectBad(CheckImported(info), "a high-water mark that is out of range");
  info.sequence_high_water = storage::kMaxImportedSequence + 1;
  EXPECT_TRUE(CheckImported(info).ok());
  info.shards = UINT32_MAX;
  ExpectBad(CheckImported(info), "too many shards");
  info.name = "a/b";
  ExpectBad(CheckImported(info), "queue");
  EXPECT_TRUE(CheckImportedCursor("c", "v").ok());
  ExpectBad(CheckImportedCursor("", "v"), "cursor");
  ExpectBad(CheckImportedCursor("c", std::string(kMaxCursorBytes + 1, 'v')), "too long");
}

}  // namespace
}  // namespace wq
