#include "storage/records.h"

#include <limits>

#include "storage/memory_storage.h"
#include "storage/record_keys.h"
#include "support.h"

namespace wq::storage {
namespace {

constexpr QueueId kQueue = 7;
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr Lane kLowestLane = std::numeric_limits<Lane>::min();
constexpr Lane kHighestLane = std::numeric_limits<Lane>::max();

// Keys that break careless codecs.
const std::vector<std::string> kOddKeys = {
    "a",        std::string(1, '\0'),  std::string("nul\0inside", 10), "\xff\xff\xff\xff",
    "\xc3\x28", std::string(4096, 'k')};

const std::string kOddError("bad\0\xff", 5);

class RecordsTest : public ::testing::Test {
 protected:
  void Apply() {
    ASSERT_OK(storage_.Write(batch_, false));
    batch_.Clear();
  }
  void Add(std::string_view key, uint64_t sequence, Lane lane = kFastLane, QueueId queue = kQueue) {
    PutPending(queue, {key, lane, sequence, 5}, &batch_);
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

  MutationBatch batch_;
  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  MemoryStorage storage_{disk_};
};

TEST_F(RecordsTest, StoreComesBack) {
  StoreRecord record;
  EXPECT_EQ(GetStore(storage_, &record).code(), StatusCode::kNotFound);
  PutStore({3, "uuid", -4}, &batch_);
  Apply();
  ASSERT_OK(GetStore(storage_, &record));
  EXPECT_EQ(record.format_version, 3U);
  EXPECT_EQ(record.uuid, "uuid");
  EXPECT_EQ(record.created_at_us, -4);
}

TEST_F(RecordsTest, QueuesComeBackByName) {
  PutQueue({"pods", 1, 10}, &batch_);
  PutQueue({"nodes", 0xffffffffU, 20}, &batch_);
  PutQueueState(1, {}, &batch_);
  PutStore({}, &batch_);
  Apply();
  std::string seen;
  EXPECT_OK(ScanQueues(storage_, [&seen](const QueueRecord& record) {
    seen += record.name + ":" + std::to_string(record.id) + ":" +
            std::to_string(record.created_at_us) + " ";
    return true;
  }));
  EXPECT_EQ(seen, "nodes:4294967295:20 pods:1:10 ");
}

TEST_F(RecordsTest, QueueStateComesBack) {
  QueueStateRecord state;
  EXPECT_EQ(GetQueueState(storage_, kQueue, &state).code(), StatusCode::kNotFound);
  PutQueueState(kQueue, {UINT64_MAX}, &batch_);
  Apply();
  ASSERT_OK(GetQueueState(storage_, kQueue, &state));
  EXPECT_EQ(state.sequence_high_water, UINT64_MAX);
}

TEST_F(RecordsTest, PendingComesBackWhateverTheKey) {
  for (const std::string& key : kOddKeys) {
    for (const Lane lane : {kFastLane, kSlowLane, kLowestLane, kHighestLane}) {
      for (const uint64_t sequence : {uint64_t{0}, kSequencesPerBlock, UINT64_MAX}) {
        PutPending(kQueue, {key, lane, sequence, kMin}, &batch_);
        Apply();
        PendingRecord record;
        ASSERT_OK(FindPending(storage_, kQueue, key, &record));
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

TEST_F(RecordsTest, DelayedComesBackByReadyTime) {
  const std::vector<int64_t> times = {kMin, -1'000'000, -1, 0, 1, 255, 256, kMax};
  for (auto it = times.rbegin(); it != times.rend(); ++it) {
    PutDelayed(kQueue, {kOddKeys[2], *it, 77, -88, kLowestLane}, &batch_);
  }
  Apply();
  std::vector<int64_t> seen;
  EXPECT_OK(ScanDelayed(storage_, kQueue, [&](const DelayedRecord& record) {
    EXPECT_EQ(record.key, kOddKeys[2]);
    EXPECT_EQ(record.delay_us, 77);
    EXPECT_EQ(record.added_at_us, -88);
    EXPECT_EQ(record.lane, kLowestLane);
    seen.push_back(record.ready_at_us);
    return true;
  }));
  EXPECT_EQ(seen, times);
  for (const int64_t time : times) EraseDelayed(kQueue, time, kOddKeys[2], &batch_);
  Apply();
  EXPECT_EQ(Contents(storage_, Family::kDelayed), "");
}

TEST_F(RecordsTest, FailuresComeBack) {
  for (const std::string& key : kOddKeys) {
    PutFailures(kQueue, {key, UINT64_MAX, -1, kMax, kOddError + key}, &batch_);
    Apply();
    std::string buffer;
    FailureRecord record;
    ASSERT_OK(GetFailures(storage_, kQueue, key, &buffer, &record));
    EXPECT_EQ(record.key, key);
    EXPECT_EQ(record.count, UINT64_MAX);
    EXPECT_EQ(record.first_at_us, -1);
    EXPECT_EQ(record.last_at_us, kMax);
    EXPECT_EQ(record.last_error, kOddError + key);
    EraseFailures(kQueue, key, &batch_);
    Apply();
    EXPECT_EQ(GetFailures(storage_, kQueue, key, &buffer, &record).code(), StatusCode::kNotFound);
  }
}

TEST_F(RecordsTest, AShorterErrorLeavesNothingOfALongerOne) {
  PutFailures(kQueue, {"k", 1, 1, 1, "a long error text"}, &batch_);
  PutFailures(kQueue, {"k", 2, 1, 2, ""}, &batch_);
  Apply();
  std::string buffer;
  FailureRecord record;
  ASSERT_OK(GetFailures(storage_, kQueue, "k", &buffer, &record));
  EXPECT_EQ(record.last_error, "");
}

TEST_F(RecordsTest, PendingIsInHandOutOrder) {
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

TEST_F(RecordsTest, PendingIsInOrderOverManyBlocks) {
  constexpr uint64_t kCount = 3 * kSequencesPerBlock;
  for (uint64_t i = 0; i < kCount; ++i) {
    const uint64_t sequence = i * 7919 % kCount;  // Coprime: each once.
    PutPending(kQueue, {std::to_string(i), kFastLane, sequence, 0}, &batch_);
  }
  Apply();
  uint64_t next = 0;
  EXPECT_OK(ScanPending(storage_, kQueue, [&next](const PendingRecord& record) {
    EXPECT_EQ(record.sequence, next);
    return ++next != 2 * kSequencesPerBlock + 5;
  }));
  EXPECT_EQ(next, 2 * kSequencesPerBlock + 5) << "stopped where the visitor said";
}

TEST_F(RecordsTest, ScanStopsInEveryLane) {
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

TEST_F(RecordsTest, QueuesDoNotMix) {
  for (const QueueId queue : {QueueId{0}, kQueue, kQueue + 1, QueueId{0xffffffff}}) {
    Add("q" + std::to_string(queue), 1, kFastLane, queue);
    Add("q" + std::to_string(queue), 2, kSlowLane, queue);
  }
  EXPECT_EQ(Pending(0), "q0@1 q0@2/-100");
  EXPECT_EQ(Pending(kQueue), "q7@1 q7@2/-100");
  EXPECT_EQ(Pending(0xffffffff), "q4294967295@1 q4294967295@2/-100");
  PendingRecord record;
  EXPECT_EQ(FindPending(storage_, kQueue, "q8", &record).code(), StatusCode::kNotFound);
  EXPECT_EQ(FindPending(storage_, 0xffffffff, "q8", &record).code(), StatusCode::kNotFound);
}

TEST_F(RecordsTest, SamePlaceOverwrites) {
  Add("k", 0);
  Add("k", kSequencesPerBlock - 1);
  EXPECT_TRUE(SamePlace(0, kSequencesPerBlock - 1));
  EXPECT_EQ(Pending(), "k@8191");
  Add("k", kSequencesPerBlock);
  EXPECT_FALSE(SamePlace(0, kSequencesPerBlock));
  EXPECT_EQ(Pending(), "k@8191 k@8192");
}

TEST_F(RecordsTest, DamageIsCorruptionThatNamesTheRecord) {
  const auto expect_corrupt = [&](Family family, const std::string& key, std::string_view value,
                                  const std::string& message) {
    batch_.Put(family, key, value);
    Apply();
    Status status;
    switch (family) {
      case Family::kDelayed:
        status = ScanDelayed(storage_, kQueue, [](const DelayedRecord&) { return true; });
        break;
      case Family::kFailures:
        status = ScanFailures(storage_, kQueue, [](const FailureRecord&) { return true; });
        break;
      case Family::kDefault:
        status = ScanQueues(storage_, [](const QueueRecord&) { return true; });
        break;
      default:
        status = ScanPending(storage_, kQueue, [](const PendingRecord&) { return true; });
    }
    EXPECT_STATUS(kCorruption, message, status);
    batch_.Erase(family, key);
    Apply();
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
  expect_corrupt(Family::kDefault, "queue/q", "\x08", "default, record 0x71756575652f71");
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
