#include "storage/records.h"

#include <string>
#include <vector>

#include "storage/record_keys.h"
#include "storage/row.h"
#include "tests/storage/records_fixture.h"

namespace wq::storage {
namespace {

// It was where the key was queued when it was tried again.
TEST_F(RecordsTest, TheFifthFieldOfFailuresIsSkipped) {
  batch_.Put(Family::kFailures, QueueKeyPrefix(kQueue) + "k", "\x08\x02\x28\x07");
  Apply();
  std::string buffer;
  FailureRecord record;
  ASSERT_OK(GetFailures(storage_, kQueue, "k", &buffer, &record));
  EXPECT_EQ(record.count, 2U);
}

TEST_F(RecordsTest, SortingKeepsKeysAndGroupsTogether) {
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

TEST_F(RecordsTest, PendingIsInOrderOverManyBlocks) {
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

TEST_F(RecordsTest, SamePlaceOverwrites) {
  const auto add = [this](uint64_t sequence) {
    PutPending(kQueue, {"k", kFastLane, sequence, 5, {}}, &batch_);
    Apply();
    std::string sequences;
    EXPECT_OK(ScanPending(storage_, kQueue, [&sequences](const PendingRecord& record) {
      sequences += std::to_string(record.sequence) + " ";
      return true;
    }));
    return sequences;
  };
  add(0);
  EXPECT_EQ(add(kSequencesPerBlock - 1), "8191 ");
  EXPECT_TRUE(SamePlace(0, kSequencesPerBlock - 1));
  EXPECT_EQ(add(kSequencesPerBlock), "8191 8192 ");
  EXPECT_FALSE(SamePlace(0, kSequencesPerBlock));
}

// Row reads each record by the call that scans its family.
TEST_F(RecordsTest, DamageIsCorruptionThatNamesTheRecord) {
  const auto expect_corrupt = [](Family family, const std::string& key, std::string_view value,
                                 const std::string& message) {
    Row row;
    EXPECT_STATUS(kCorruption, message, row.Decode(family, key, value));
    EXPECT_EQ(row.broken(), RowRule::kNone);
  };
  const std::string queue("\0\0\0\7", 4);
  const std::string block(8, '\0');
  expect_corrupt(Family::kDirty, queue + block + "k", "\xff", "dirty, record 0x00000007");
  expect_corrupt(Family::kDirty, queue + block, "", "too short");
  expect_corrupt(Family::kDirty, queue, "", "too short");
  expect_corrupt(Family::kDirty, queue + "\1" + block.substr(1) + "k", "", "not of its block");
  expect_corrupt(Family::kLanes, queue + "\x7f\xff\xff\xff" + block + "k", "", "default lane");
  expect_corrupt(Family::kLanes, queue + block, "", "lanes, record");
  expect_corrupt(Family::kDelayed, queue + block, "", "delayed, record");
  expect_corrupt(Family::kDelayed, queue + block + "k", "\x08", "cannot be decoded");
  expect_corrupt(Family::kFailures, queue, "", "failures, record");
  expect_corrupt(Family::kFailures, queue + "k", "\x08", "cannot be decoded");
  expect_corrupt(Family::kDirty, queue + block + "k", "\x1a\x05g", "cannot be decoded");
  expect_corrupt(Family::kDelayed, queue + block + "k", "\x22\x05g", "cannot be decoded");
  expect_corrupt(Family::kQuarantine, queue, "", "quarantine, record 0x00000007");
  expect_corrupt(Family::kQuarantine, queue + "k", "\x3a\x05g", "cannot be decoded");
  expect_corrupt(Family::kCursors, queue, "value", "cursors, record 0x00000007: its key is too");
  expect_corrupt(Family::kDefault, "queue/q", "\x08", "default, record 0x71756575652f71");
}

TEST_F(RecordsTest, DamageIsCorruptionForALookUpToo) {
  batch_.Put(Family::kDefault, StateKey(kQueue), "\x12\x05g");
  const std::string key = QueueKeyPrefix(kQueue) + "k";
  batch_.Put(Family::kFailures, key, "\x08");
  batch_.Put(Family::kQuarantine, key, "\x08");
  std::string pending_key;
  AppendPendingKey(kQueue, kFastLane, 1, "k", &pending_key);
  batch_.Put(Family::kDirty, pending_key, "\x08\x01\x1a\x05g");
  Apply();
  std::string buffer;
  QueueStateRecord state;
  EXPECT_STATUS(kCorruption, "default, record", GetQueueState(storage_, kQueue, &buffer, &state));
  FailureRecord failures;
  EXPECT_STATUS(kCorruption, "failures, record 0x000000076b",
                GetFailures(storage_, kQueue, "k", &buffer, &failures));
  QuarantineRecord quarantined;
  EXPECT_STATUS(kCorruption, "quarantine, record 0x000000076b",
                GetQuarantine(storage_, kQueue, "k", &buffer, &quarantined));
  PendingRecord pending;
  EXPECT_STATUS(kCorruption, "dirty, record",
                FindPending(storage_, kQueue, "k", &buffer, &pending));
}

TEST(RecordKeys, LanesSortHigherFirst) {
  const std::vector<Lane> lanes = {kHighestLane, 1, 0, -1, kSlowLane, kLowestLane};
  for (size_t i = 0; i < lanes.size(); ++i) {
    EXPECT_EQ(LaneOfCode(LaneCode(lanes[i])), lanes[i]);
    if (i > 0) {
      EXPECT_LT(LaneCode(lanes[i - 1]), LaneCode(lanes[i]));
    }
  }
}

TEST(PrefixEnd, IsTheFirstStringAfterAllWithThePrefix) {
  EXPECT_EQ(PrefixEnd("a"), "b");
  EXPECT_EQ(PrefixEnd(std::string("a\0", 2)), "a\1");
  EXPECT_EQ(PrefixEnd("a\xff\xff"), "b");
  EXPECT_EQ(PrefixEnd("\xff\xff"), "");
  EXPECT_EQ(PrefixEnd(""), "");
}

}  // namespace
}  // namespace wq::storage
