// Records that contradict each other, and reads that fail: the queue is refused, not opened with a
// part of its keys.
#include "engine/recovery/recovery.h"

#include <functional>
#include <string>

#include <gmock/gmock.h>

#include "engine/state/queue_state.h"
#include "storage/memory_storage.h"
#include "storage/records.h"
#include "tests/support/failing_reader.h"

namespace wq {
namespace {

using storage::MutationBatch;

class RecoveryTest : public ::testing::Test {
 protected:
  static constexpr storage::QueueId kId = 7;

  RecoveryTest() {
    Put([](MutationBatch* batch) {
      storage::PutQueueState(kId, {100, "limiter", true, 77, 0}, batch);
      storage::PutPending(kId, {"pending", kFastLane, 5, 1, {}}, batch);
      storage::PutPending(kId, {"quarantined", kFastLane, 6, 1, {}}, batch);
      storage::PutDelayed(kId, {"delayed", 50, 40, 10, kFastLane, {}}, batch);
      storage::PutFailures(kId, {"delayed", 2, 1, 2, "e"}, batch);
      storage::PutQuarantine(kId, {{"quarantined", 3, 1, 2, "e"}, 3, kSlowLane, {}}, batch);
      storage::PutCursor(kId, {"cursor", "value"}, batch);
    });
  }
  void Put(const std::function<void(MutationBatch*)>& put) {
    MutationBatch batch;
    put(&batch);
    ASSERT_TRUE(storage_.Write(batch, false).ok());
  }
  Status RecoverFrom(const storage::Reader& reader) {
    MutationBatch batch;
    QueueState state(kId, {.order = Order::kTwoLanes}, &batch);
    return RestoreQueue(reader, kId, {.steady_us = 0, .wall_us = 1000}, &state);
  }
  void ExpectRefused(const std::string& why, const std::function<void(MutationBatch*)>& put) {
    Put(put);
    const Status s = RecoverFrom(storage_);
    EXPECT_EQ(s.code(), StatusCode::kCorruption);
    EXPECT_THAT(s.message(), ::testing::HasSubstr(why));
  }

  std::shared_ptr<storage::MemoryDisk> disk_ = std::make_shared<storage::MemoryDisk>();
  storage::MemoryStorage storage_{disk_};
};

TEST_F(RecoveryTest, AFailedReadIsNotTakenForAnEmptierQueue) {
  support::ForEachFailingRead(storage_,
                              [&](const storage::Reader& reader) { return RecoverFrom(reader); });
}

TEST_F(RecoveryTest, ANewQueueHasNoRecords) {
  const storage::MemoryStorage empty(std::make_shared<storage::MemoryDisk>());
  EXPECT_TRUE(RecoverFrom(empty).ok());
}

TEST_F(RecoveryTest, PendingTwice) {
  ExpectRefused("key 'pending' is pending twice", [](MutationBatch* batch) {
    storage::PutPending(kId, {"pending", kSlowLane, 7, 1, {}}, batch);
  });
}

TEST_F(RecoveryTest, ASequenceAboveTheHighWaterMark) {
  ExpectRefused("key 'high' has a sequence above", [](MutationBatch* batch) {
    storage::PutPending(kId, {"high", kFastLane, 100, 1, {}}, batch);
  });
}

TEST_F(RecoveryTest, DelayedTwice) {
  ExpectRefused("key 'delayed' is delayed twice", [](MutationBatch* batch) {
    storage::PutDelayed(kId, {"delayed", 60, 40, 10, kFastLane, {}}, batch);
  });
}

TEST_F(RecoveryTest, DelayedAndQuarantined) {
  ExpectRefused("key 'quarantined' is delayed and quarantined", [](MutationBatch* batch) {
    storage::PutDelayed(kId, {"quarantined", 60, 40, 10, kFastLane, {}}, batch);
  });
}

TEST_F(RecoveryTest, ADelayOutOfRange) {
  for (const int64_t delay : {int64_t{-1}, kMaxDelay.count() + 1}) {
    ExpectRefused("key 'x' has a delay that is out of range", [&](MutationBatch* batch) {
      storage::PutDelayed(kId, {"x", 60, delay, 10, kFastLane, {}}, batch);
    });
  }
}

TEST_F(RecoveryTest, FailuresThatCountNone) {
  ExpectRefused("key 'none' has failures that count none", [](MutationBatch* batch) {
    storage::PutFailures(kId, {"none", 0, 1, 2, "e"}, batch);
  });
}

TEST_F(RecoveryTest, FailingAndQuarantined) {
  ExpectRefused("key 'quarantined' is both failing and quarantined", [](MutationBatch* batch) {
    storage::PutFailures(kId, {"quarantined", 1, 1, 2, "e"}, batch);
  });
}

}  // namespace
}  // namespace wq
