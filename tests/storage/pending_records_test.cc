#include "storage/records.h"

#include "tests/storage/records_fixture.h"

namespace wq::storage {
namespace {

class PendingRecordsTest : public RecordsTest {
 protected:
  void Add(std::string_view key, uint64_t sequence, Lane lane = kFastLane, QueueId queue = kQueue) {
    PutPending(queue, {key, lane, sequence, 5, {}}, &batch_);
    Apply();
  }
  // "key@sequence key@sequence", with the lane behind where it is not the default one.
  std::string Pending(QueueId queue = kQueue) {
    std::string text;
    EXPECT_OK(ScanPending(storage_, queue, [&text](const PendingRecord& record) {
      if (!text.empty()) text += ' ';
      text.append(record.key).append("@").append(std::to_string(record.sequence));
      if (record.lane != kFastLane) text.append("/").append(std::to_string(record.lane));
      return true;
    }));
    return text;
  }
};

TEST_F(PendingRecordsTest, PendingComesBackWhateverTheKey) {
  for (const std::string& key : kOddKeys) {
    for (const Lane lane : {kFastLane, kSlowLane, kLowestLane, kHighestLane}) {
      for (const uint64_t sequence : {uint64_t{0}, kSequencesPerBlock, UINT64_MAX}) {
        PutPending(kQueue, {key, lane, sequence, kMin, {}}, &batch_);
        Apply();
        std::string buffer;
        PendingRecord record;
        ASSERT_OK(FindPending(storage_, kQueue, key, &buffer, &record));
        EXPECT_EQ(record.key, key);
        EXPECT_EQ(record.lane, lane);
        EXPECT_EQ(record.sequence, sequence);
        EXPECT_EQ(record.added_at_us, kMin);
        ErasePending(kQueue, lane, sequence, key, &batch_);
        Apply();
        EXPECT_EQ(Pending(), "");
      }
    }
  }
}

TEST_F(PendingRecordsTest, PendingComesBackWithItsGroup) {
  for (const Lane lane : {kFastLane, kSlowLane}) {
    for (const std::string& group : kOddGroups) {
      PutPending(kQueue, {kOddKeys[2], lane, 1, kMax, group}, &batch_);
      Apply();
      std::string buffer;
      PendingRecord found;
      ASSERT_OK(FindPending(storage_, kQueue, kOddKeys[2], &buffer, &found));
      EXPECT_EQ(found.key, kOddKeys[2]);
      EXPECT_EQ(found.group, group);
      const auto expect_group = [&](const PendingRecord& record) {
        EXPECT_EQ(record.key, kOddKeys[2]);
        EXPECT_EQ(record.added_at_us, kMax);
        EXPECT_EQ(record.group, group);
        return true;
      };
      EXPECT_OK(ScanPending(storage_, kQueue, expect_group));
      EXPECT_OK(ScanPendingUnordered(storage_, kQueue, expect_group));
    }
    ErasePending(kQueue, lane, 1, kOddKeys[2], &batch_);
    Apply();
  }
}

TEST_F(PendingRecordsTest, SortingKeepsKeysAndGroupsTogether) {
  // By key: a, bb, ccc. By sequence the other way round, and over two blocks.
  PutPending(kQueue, {"a", kFastLane, 3, 0, "long group"}, &batch_);
  PutPending(kQueue, {"bb", kFastLane, 2, 0, {}}, &batch_);
  PutPending(kQueue, {"ccc", kFastLane, 1, 0, "g"}, &batch_);
  PutPending(kQueue, {"dddd", kFastLane, kSequencesPerBlock, 0, {}}, &batch_);
  PutPending(kQueue, {"e", kSlowLane, 0, 0, "h"}, &batch_);
  Apply();
  std::string seen;
  EXPECT_OK(ScanPending(storage_, kQueue, [&seen](const PendingRecord& record) {
    seen.append(record.key).append("(").append(record.group).append(") ");
    return true;
  }));
  EXPECT_EQ(seen, "ccc(g) bb() a(long group) dddd() e(h) ");
}

TEST_F(PendingRecordsTest, PendingIsInHandOutOrder) {
  Add("slow-late", 9, kSlowLane);
  Add("z", 1);
  Add("a", 2);
  Add("lowest", 3, kLowestLane);
  Add("below", 4, -1);
  Add("above", 5, 1);
  Add("highest", 6, kHighestLane);
  Add("m", kSequencesPerBlock);
  Add("b", kSequencesPerBlock - 1);
  Add("slow-early", 8, kSlowLane);
  EXPECT_EQ(Pending(),
            "highest@6/2147483647 above@5/1 z@1 a@2 b@8191 m@8192 below@4/-1 slow-early@8/-100 "
            "slow-late@9/-100 lowest@3/-2147483648");
}

TEST_F(PendingRecordsTest, PendingIsInOrderOverManyBlocks) {
  constexpr uint64_t kCount = 3 * kSequencesPerBlock;
  for (uint64_t i = 0; i < kCount; ++i) {
    const uint64_t sequence = i * 7919 % kCount;  // Coprime: each once.
    PutPending(kQueue, {std::to_string(i), kFastLane, sequence, 0, {}}, &batch_);
  }
  Apply();
  uint64_t next = 0;
  EXPECT_OK(ScanPending(storage_, kQueue, [&next](const PendingRecord& record) {
    EXPECT_EQ(record.sequence, next);
    return ++next != 2 * kSequencesPerBlock + 5;
  }));
  EXPECT_EQ(next, 2 * kSequencesPerBlock + 5) << "stopped where the visitor said";
}

TEST_F(PendingRecordsTest, ScanStopsInEveryLane) {
  Add("high", 1, 1);
  Add("fast", 2);
  Add("slow", 3, kSlowLane);
  for (int wanted = 1; wanted <= 3; ++wanted) {
    int seen = 0;
    EXPECT_OK(ScanPending(storage_, kQueue, [&](const PendingRecord&) { return ++seen < wanted; }));
    EXPECT_EQ(seen, wanted);
    seen = 0;
    EXPECT_OK(ScanPendingUnordered(storage_, kQueue,
                                   [&](const PendingRecord&) { return ++seen < wanted; }));
    EXPECT_EQ(seen, wanted);
  }
}

TEST_F(PendingRecordsTest, QueuesDoNotMix) {
  for (const QueueId queue : {QueueId{0}, kQueue, kQueue + 1, QueueId{0xffffffff}}) {
    const std::string key = std::string("q").append(std::to_string(queue));
    Add(key, 1, kFastLane, queue);
    Add(key, 2, kSlowLane, queue);
  }
  EXPECT_EQ(Pending(0), "q0@1 q0@2/-100");
  EXPECT_EQ(Pending(kQueue), "q7@1 q7@2/-100");
  EXPECT_EQ(Pending(0xffffffff), "q4294967295@1 q4294967295@2/-100");
  std::string buffer;
  PendingRecord record;
  EXPECT_STATUS(kNotFound, "", FindPending(storage_, kQueue, "q8", &buffer, &record));
  EXPECT_STATUS(kNotFound, "", FindPending(storage_, 0xffffffff, "q8", &buffer, &record));
}

TEST_F(PendingRecordsTest, SamePlaceOverwrites) {
  Add("k", 0);
  Add("k", kSequencesPerBlock - 1);
  EXPECT_TRUE(SamePlace(0, kSequencesPerBlock - 1));
  EXPECT_EQ(Pending(), "k@8191");
  Add("k", kSequencesPerBlock);
  EXPECT_FALSE(SamePlace(0, kSequencesPerBlock));
  EXPECT_EQ(Pending(), "k@8191 k@8192");
}

}  // namespace
}  // namespace wq::storage
