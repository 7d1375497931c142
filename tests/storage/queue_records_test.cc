#include "storage/queue_records.h"

#include "storage/record_keys.h"
#include "tests/storage/records_fixture.h"

namespace wq::storage {
namespace {

class QueueRecordsTest : public RecordsTest {};

// One queue has more records than fit one batch; the queues with the adjacent ids have some.
TEST_F(QueueRecordsTest, ErasesAllOfOneQueue) {
  constexpr int kMany = 100'001;
  for (const QueueId queue : {kQueue - 1, kQueue, kQueue + 1}) {
    for (int i = 0; i < (queue == kQueue ? kMany : 3); ++i) {
      batch_.Put(Family::kCursors, QueueKeyPrefix(queue) + std::to_string(i), "");
    }
    batch_.Put(Family::kDirty, QueueKeyPrefix(queue) + "key", "");
    Apply();
  }
  bool none = true;
  ASSERT_OK(HasNoRecords(storage_, kQueue, &none));
  EXPECT_FALSE(none);
  ASSERT_OK(EraseQueueRecords(kQueue, &storage_));
  ASSERT_OK(HasNoRecords(storage_, kQueue, &none));
  EXPECT_TRUE(none);
  for (const QueueId queue : {kQueue - 1, kQueue + 1}) {
    int left = 0;
    ASSERT_OK(storage_.Scan(Family::kCursors, QueueKeyPrefix(queue),
                            PrefixEnd(QueueKeyPrefix(queue)),
                            [&left](auto, auto) { return ++left > 0; }));
    EXPECT_EQ(left, 3);
  }
}

TEST_F(QueueRecordsTest, TheStateIsNoneOfThem) {
  batch_.Put(Family::kCursors, QueueKeyPrefix(kQueue) + "c", "");
  PutQueueState(kQueue, {.sequence_high_water = 5}, &batch_);
  Apply();
  bool none = true;
  ASSERT_OK(HasNoRecords(storage_, kQueue, &none));
  EXPECT_FALSE(none);
  ASSERT_OK(EraseQueueRecords(kQueue, &storage_));
  ASSERT_OK(HasNoRecords(storage_, kQueue, &none));
  EXPECT_TRUE(none);
  std::string buffer;
  QueueStateRecord state;
  EXPECT_OK(GetQueueState(storage_, kQueue, &buffer, &state));  // Until EraseQueue.
}

TEST_F(QueueRecordsTest, AFailedWriteEndsTheErasing) {
  batch_.Put(Family::kCursors, QueueKeyPrefix(kQueue) + "c", "");
  Apply();
  {
    const MutexLock lock(disk_->mu);
    disk_->state.fail_after = 0;
  }
  EXPECT_FALSE(EraseQueueRecords(kQueue, &storage_).ok());
}

TEST_F(QueueRecordsTest, TheNameOfAnImport) {
  EXPECT_EQ(WithoutImportSuffix("pods~loading"), "pods");
  EXPECT_EQ(WithoutImportSuffix("pods~replaced"), "pods");
  EXPECT_EQ(WithoutImportSuffix("pods"), "pods");
  EXPECT_TRUE(IsOfImport("pods~loading"));
  EXPECT_FALSE(IsOfImport("pods"));
}

}  // namespace
}  // namespace wq::storage
