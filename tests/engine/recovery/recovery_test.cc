// Reads that fail: the queue is refused, not opened with a part of its keys. (For records that
// contradict each other see tests/corruption/row_rules_test.cc.)
#include "engine/recovery/recovery.h"

#include <string>

#include <gtest/gtest.h>

#include "engine/recovery/read_ahead.h"
#include "engine/state/queue_state.h"
#include "storage/records.h"
#include "tests/support/failing_reader.h"
#include "tests/support/memory_storage.h"

namespace wq {
namespace {

using storage::MutationBatch;

class RecoveryTest : public ::testing::Test {
 protected:
  static constexpr storage::QueueId kId = 7;

  RecoveryTest() {
    MutationBatch batch;
    storage::PutQueueState(kId, {100, "limiter", true, 77, 0}, &batch);
    storage::PutPending(kId, {"pending", kFastLane, 5, 1, {}}, &batch);
    storage::PutPending(kId, {"quarantined", kFastLane, 6, 1, {}}, &batch);
    storage::PutDelayed(kId, {"delayed", 50, 40, 10, kFastLane, {}}, &batch);
    storage::PutFailures(kId, {"delayed", 2, 1, 2, "e"}, &batch);
    storage::PutQuarantine(kId, {{"quarantined", 3, 1, 2, "e"}, 3, kSlowLane, {}}, &batch);
    storage::PutCursor(kId, {"cursor", "value"}, &batch);
    EXPECT_TRUE(storage_.Write(batch, false).ok());
  }
  Status RecoverFrom(const storage::Reader& reader) {
    MutationBatch batch;
    QueueState state(kId, {.order = Order::kTwoLanes}, &batch);
    return RestoreQueue(reader, kId, {.steady_us = 0, .wall_us = 1000}, &state);
  }

  std::shared_ptr<storage::MemoryDisk> disk_ = std::make_shared<storage::MemoryDisk>();
  storage::MemoryStorage storage_{disk_};
};

TEST_F(RecoveryTest, AFailedReadIsNotTakenForAnEmptierQueue) {
  support::ForEachFailingRead(storage_,
                              [&](const storage::Reader& reader) { return RecoverFrom(reader); });
}

TEST_F(RecoveryTest, APauseOfAnOlderVersionEndsAtItsTime) {
  constexpr int64_t kDayUs = int64_t{86'400} * 1'000'000;
  MutationBatch batch;
  storage::PutQueueState(kId, {.paused = true, .paused_until_us = 1000 + kDayUs}, &batch);
  MutationBatch more;
  QueueState state(kId, {}, &more);
  storage::MemoryStorage older(std::make_shared<storage::MemoryDisk>());
  ASSERT_TRUE(older.Write(batch, false).ok());
  ASSERT_TRUE(RestoreQueue(older, kId, {.steady_us = 0, .wall_us = 1000}, &state).ok());
  EXPECT_EQ(state.NextDue(), kDayUs);
  EXPECT_TRUE(more.empty());
}

TEST_F(RecoveryTest, MayEndBeforeAllRecordsAreTaken) {
  MutationBatch batch;
  for (uint64_t i = 0; i < 20'000; ++i) {
    storage::PutPending(kId, {.key = "k" + std::to_string(i), .sequence = 10 + i}, &batch);
  }
  ASSERT_TRUE(storage_.Write(batch, false).ok());
  for (const int chunks : {0, 1, 2}) {
    ReadAhead ahead(storage_, kId);
    ReadAhead::Chunk chunk;
    for (int i = 0; i < chunks; ++i) {
      EXPECT_TRUE(ahead.Next(&chunk));
    }
  }
}

TEST_F(RecoveryTest, ANewQueueHasNoRecords) {
  const storage::MemoryStorage empty(std::make_shared<storage::MemoryDisk>());
  EXPECT_TRUE(RecoverFrom(empty).ok());
}

}  // namespace
}  // namespace wq
