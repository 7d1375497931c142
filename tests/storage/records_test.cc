#include "storage/records.h"

#include <limits>
#include <string>
#include <vector>

#include "storage/record_keys.h"
#include "storage/records.pb.h"
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

// Values of integers only are written without a Protobuf message.
TEST_F(RecordsTest, IntegersOfEveryMagnitudeAreWhatProtobufWrites) {
  std::vector<int64_t> numbers = {0, std::numeric_limits<int64_t>::min()};
  for (int bit = 0; bit < 63; ++bit) {
    for (const int64_t number : {int64_t{1} << bit, (int64_t{1} << bit) - 1}) {
      numbers.push_back(number);
      numbers.push_back(-number);
    }
  }
  for (const int64_t number : numbers) {
    pb::PendingRecord pending;
    pending.set_sequence(static_cast<uint64_t>(number));
    pending.set_added_at_us(~number);
    PutPending(kQueue,
               {.key = "k", .sequence = pending.sequence(), .added_at_us = pending.added_at_us()},
               &batch_);
    pb::DelayedRecord delayed;
    delayed.set_delay_us(number);
    delayed.set_added_at_us(number ^ 1);
    delayed.set_lane(static_cast<Lane>(number));
    delayed.set_debounced(number % 2 != 0);
    delayed.set_resync(number % 3 != 0);
    PutDelayed(kQueue,
               {.key = "k",
                .delay_us = number,
                .added_at_us = delayed.added_at_us(),
                .lane = delayed.lane(),
                .debounced = delayed.debounced(),
                .resync = delayed.resync()},
               &batch_);
    std::string values;
    batch_.ForEach([&values](const Mutation& put) { values += put.value; });
    batch_.Clear();
    ASSERT_EQ(Hex(values), Hex(pending.SerializeAsString() + delayed.SerializeAsString()));
  }
}

TEST(RecordKeys, LanesSortHigherFirst) {
  const std::vector<Lane> lanes = {std::numeric_limits<Lane>::max(), 1, 0, -1, kSlowLane,
                                   std::numeric_limits<Lane>::min()};
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
