#include "storage/records.h"

#include "storage/record_keys.h"
#include "tests/storage/records_fixture.h"

namespace wq::storage {
namespace {

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
  std::string buffer;
  QueueStateRecord state;
  EXPECT_EQ(GetQueueState(storage_, kQueue, &buffer, &state).code(), StatusCode::kNotFound);
  const std::vector<std::string> limiter_states = {kOddError, std::string(4096, '\0'), ""};
  for (const std::string& limiter_state : limiter_states) {
    for (const bool paused : {true, false}) {
      for (const int64_t until : {kMin, int64_t{0}, kMax}) {
        PutQueueState(kQueue, {UINT64_MAX, limiter_state, paused, until, 0, until, ~until},
                      &batch_);
        Apply();
        ASSERT_OK(GetQueueState(storage_, kQueue, &buffer, &state));
        EXPECT_EQ(state.sequence_high_water, UINT64_MAX);
        EXPECT_EQ(state.limiter_state, limiter_state);
        EXPECT_EQ(state.paused, paused);
        EXPECT_EQ(state.paused_until_us, until);
        EXPECT_EQ(state.pause_us, until);
        EXPECT_EQ(state.paused_at_us, ~until);
      }
    }
  }
}

TEST_F(RecordsTest, AnEmptyQueueStateLeavesNothingOfAFullOne) {
  std::string buffer;
  QueueStateRecord state{1, "state", true, 2, 3, 4, 5};
  PutQueueState(kQueue, state, &batch_);
  PutQueueState(kQueue, {}, &batch_);
  Apply();
  ASSERT_OK(GetQueueState(storage_, kQueue, &buffer, &state));
  EXPECT_EQ(state.sequence_high_water, 0U);
  EXPECT_EQ(state.limiter_state, "");
  EXPECT_FALSE(state.paused);
  EXPECT_EQ(state.paused_until_us + state.pause_us + state.paused_at_us, 0);
}

TEST_F(RecordsTest, DelayedComesBackWithItsGroup) {
  for (const std::string& group : kOddGroups) {
    PutDelayed(kQueue, {"k", 1, 2, 3, kSlowLane, group}, &batch_);
    Apply();
    std::vector<std::string> seen;
    EXPECT_OK(ScanDelayed(storage_, kQueue, [&](const DelayedRecord& record) {
      seen.emplace_back(record.group);
      return true;
    }));
    EXPECT_EQ(seen, std::vector<std::string>{group});
  }
}

TEST_F(RecordsTest, DelayedComesBackByReadyTime) {
  const std::vector<int64_t> times = {kMin, -1'000'000, -1, 0, 1, 255, 256, kMax};
  for (auto it = times.rbegin(); it != times.rend(); ++it) {
    PutDelayed(kQueue, {kOddKeys[2], *it, 77, -88, kLowestLane, {}}, &batch_);
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

// It was where the key was queued when it was tried again.
TEST_F(RecordsTest, TheFifthFieldOfFailuresIsSkipped) {
  batch_.Put(Family::kFailures, QueueKeyPrefix(kQueue) + "k", "\x08\x02\x28\x07");
  Apply();
  std::string buffer;
  FailureRecord record;
  ASSERT_OK(GetFailures(storage_, kQueue, "k", &buffer, &record));
  EXPECT_EQ(record.count, 2U);
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

TEST_F(RecordsTest, QuarantineComesBack) {
  for (const std::string& key : kOddKeys) {
    for (const std::string& group : kOddGroups) {
      for (const std::string& error : {kOddError + key, std::string()}) {
        PutQuarantine(kQueue, {{key, UINT64_MAX, -1, kMax, error}, kMin, kLowestLane, group},
                      &batch_);
        Apply();
        std::string buffer;
        QuarantineRecord record;
        ASSERT_OK(GetQuarantine(storage_, kQueue, key, &buffer, &record));
        EXPECT_EQ(record.failures.key, key);
        EXPECT_EQ(record.failures.count, UINT64_MAX);
        EXPECT_EQ(record.failures.first_at_us, -1);
        EXPECT_EQ(record.failures.last_at_us, kMax);
        EXPECT_EQ(record.failures.last_error, error);
        EXPECT_EQ(record.quarantined_at_us, kMin);
        EXPECT_EQ(record.lane, kLowestLane);
        EXPECT_EQ(record.group, group);
      }
    }
    EraseQuarantine(kQueue, key, &batch_);
    Apply();
    EXPECT_EQ(Contents(storage_, Family::kQuarantine), "");
  }
}

TEST_F(RecordsTest, QuarantineIsApartFromFailures) {
  std::string buffer;
  FailureRecord failures;
  QuarantineRecord quarantined;
  PutFailures(kQueue, {"fails", 1, 2, 3, "e"}, &batch_);
  PutQuarantine(kQueue, {{"kept", 0, 0, 0, {}}, 0, kFastLane, {}}, &batch_);
  Apply();
  EXPECT_STATUS(kNotFound, "", GetFailures(storage_, kQueue, "kept", &buffer, &failures));
  EXPECT_STATUS(kNotFound, "", GetQuarantine(storage_, kQueue, "fails", &buffer, &quarantined));
  EXPECT_STATUS(kNotFound, "", GetQuarantine(storage_, kQueue + 1, "kept", &buffer, &quarantined));
  ASSERT_OK(GetQuarantine(storage_, kQueue, "kept", &buffer, &quarantined));
  EXPECT_EQ(quarantined.failures.count, 0U);
}

TEST_F(RecordsTest, QuarantineIsScannedByKeyAndStops) {
  PutQuarantine(kQueue, {{"b", 2, 0, 0, "second"}, 20, kSlowLane, {}}, &batch_);
  PutQuarantine(kQueue, {{"a", 1, 0, 0, {}}, 10, kFastLane, "g"}, &batch_);
  PutQuarantine(kQueue, {{"c", 3, 0, 0, {}}, 30, kFastLane, {}}, &batch_);
  PutQuarantine(kQueue + 1, {{"other", 0, 0, 0, {}}, 0, kFastLane, {}}, &batch_);
  Apply();
  const auto scan = [&](int at_most) {
    std::string seen;
    EXPECT_OK(ScanQuarantine(storage_, kQueue, [&](const QuarantineRecord& record) {
      seen.append(record.failures.key).append(std::to_string(record.failures.count)).append("/");
      seen.append(record.failures.last_error).append("/").append(std::to_string(record.lane));
      seen.append("/").append(record.group).append(" ");
      return --at_most > 0;
    }));
    return seen;
  };
  EXPECT_EQ(scan(9), "a1//0/g b2/second/-100/ c3//0/ ") << "nothing of a record in the next";
  EXPECT_EQ(scan(2), "a1//0/g b2/second/-100/ ");
}

TEST_F(RecordsTest, CursorsComeBackByName) {
  const std::string long_value(size_t{64} << 10, '\xff');
  PutCursor(kQueue, {"pods", kOddError}, &batch_);
  PutCursor(kQueue, {"empty", {}}, &batch_);
  PutCursor(kQueue, {std::string_view("nul\0", 4), long_value}, &batch_);
  PutCursor(kQueue, {"gone", "x"}, &batch_);
  EraseCursor(kQueue, "gone", &batch_);
  PutCursor(kQueue + 1, {"other", "x"}, &batch_);
  PutCursor(kQueue, {"pods", kOddError + "2"}, &batch_);
  Apply();
  const auto scan = [&](size_t at_most) {
    std::vector<std::pair<std::string, std::string>> seen;
    EXPECT_OK(ScanCursors(storage_, kQueue, [&](const CursorRecord& record) {
      seen.emplace_back(record.name, record.value);
      return seen.size() < at_most;
    }));
    return seen;
  };
  std::vector<std::pair<std::string, std::string>> all = {
      {"empty", ""}, {std::string("nul\0", 4), long_value}, {"pods", kOddError + "2"}};
  EXPECT_EQ(scan(9), all);
  all.pop_back();
  EXPECT_EQ(scan(2), all);
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
      case Family::kQuarantine:
        status = ScanQuarantine(storage_, kQueue, [](const QuarantineRecord&) { return true; });
        break;
      case Family::kCursors:
        status = ScanCursors(storage_, kQueue, [](const CursorRecord&) { return true; });
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
