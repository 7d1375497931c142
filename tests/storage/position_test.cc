#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "storage/record_keys.h"
#include "storage/records.h"
#include "tests/storage/records_fixture.h"
#include "tests/support/failing_reader.h"

namespace wq::storage {
namespace {

// How many keys are handed out before one: compared with the order in which they are scanned.
class PositionTest : public RecordsTest {
 protected:
  PositionTest() {
    // Lanes on both sides of the default one, keys against the order of their sequences, three
    // blocks.
    for (const Lane lane : {7, 3, static_cast<int>(kFastLane), -1, static_cast<int>(kSlowLane)}) {
      for (uint64_t i = 0; i < 12; ++i) {
        const uint64_t sequence = i % 3 * kSequencesPerBlock + i / 3;
        const std::string key = "k" + std::to_string(90 - i) + "/" + std::to_string(lane);
        PutPending(kQueue, {key, lane, sequence, 5, {}}, &batch_);
      }
    }
    PutPending(kQueue - 1, {"before", 9, 0, 5, {}}, &batch_);
    PutPending(kQueue + 1, {"other", kFastLane, 0, 5, {}}, &batch_);
    Apply();
    EXPECT_OK(ScanPending(storage_, kQueue, [this](const PendingRecord& record) {
      order_.emplace_back(record.lane, record.sequence);
      return true;
    }));
  }
  std::vector<std::pair<Lane, uint64_t>> order_;
};

TEST_F(PositionTest, IsExactWhileAllIsCounted) {
  ASSERT_EQ(order_.size(), 60U);
  for (size_t i = 0; i < order_.size(); ++i) {
    uint64_t at_least = 0, at_most = 0;
    ASSERT_OK(CountPendingBefore(storage_, kQueue, order_[i].first, order_[i].second, 1000,
                                 &at_least, &at_most));
    EXPECT_EQ(at_least, i);
    EXPECT_EQ(at_most, i);
  }
}

TEST_F(PositionTest, LiesBetweenTheBoundsWhereTheCountingEnds) {
  for (uint64_t max_counted = 0; max_counted < 62; ++max_counted) {
    for (size_t i = 0; i < order_.size(); ++i) {
      uint64_t at_least = 0, at_most = 0;
      ASSERT_OK(CountPendingBefore(storage_, kQueue, order_[i].first, order_[i].second, max_counted,
                                   &at_least, &at_most));
      EXPECT_LE(at_least, i);
      EXPECT_GE(at_most, i);
      EXPECT_GE(at_least + kSequencesPerBlock * 15, at_most)
          << "a block for each that holds anything";
      EXPECT_GE(at_least, std::min<uint64_t>(max_counted, i / 12 * 12));
    }
  }
}

TEST_F(PositionTest, DamageInItsBlockIsReported) {
  std::string key;
  AppendPendingKey(kQueue, kFastLane, 2, "damaged", &key);
  batch_.Put(Family::kDirty, key, "\xff");
  Apply();
  uint64_t at_least = 0, at_most = 0;
  EXPECT_STATUS(kCorruption, "cannot be decoded",
                CountPendingBefore(storage_, kQueue, kFastLane, 1, 1000, &at_least, &at_most));
}

TEST_F(PositionTest, AFailedReadIsNotTakenForFewerKeys) {
  for (const auto& place : order_) {
    for (const uint64_t max_counted : {uint64_t{0}, uint64_t{30}, uint64_t{1000}}) {
      support::ForEachFailingRead(storage_, [&](const Reader& reader) {
        uint64_t at_least = 0, at_most = 0;
        return CountPendingBefore(reader, kQueue, place.first, place.second, max_counted, &at_least,
                                  &at_most);
      });
    }
  }
}

TEST_F(PositionTest, NeitherDoOtherReadings) {
  PutStore({1, "uuid", 2}, &batch_);
  PutQueue({"q", kQueue, 3}, &batch_);
  Apply();
  const auto go_on = [](const auto&) { return true; };
  support::ForEachFailingRead(
      storage_, [&](const Reader& reader) { return ScanPending(reader, kQueue, go_on); });
  support::ForEachFailingRead(
      storage_, [&](const Reader& reader) { return ScanPendingUnordered(reader, kQueue, go_on); });
  support::ForEachFailingRead(storage_,
                              [&](const Reader& reader) { return ScanQueues(reader, go_on); });
  support::ForEachFailingRead(storage_, [](const Reader& reader) {
    StoreRecord record;
    return GetStore(reader, &record);
  });
  support::ForEachFailingRead(storage_, [](const Reader& reader) {
    std::string buffer;
    PendingRecord record;
    return FindPending(reader, kQueue, "k90/-1", &buffer, &record);
  });
}

// A scan can be stopped in each of its parts.
TEST_F(PositionTest, ScansStopWhereTheVisitorWants) {
  for (size_t most = 1; most <= order_.size(); ++most) {
    for (const auto scan : {ScanPending, ScanPendingUnordered}) {
      size_t seen = 0;
      EXPECT_OK(scan(storage_, kQueue, [&](const PendingRecord&) { return ++seen < most; }));
      EXPECT_EQ(seen, most);
    }
  }
}

TEST_F(PositionTest, AKeyThatIsTooShortIsFoundByALookUpToo) {
  batch_.Put(Family::kDirty, QueueKeyPrefix(kQueue) + "\1", "");
  Apply();
  std::string buffer;
  PendingRecord record;
  EXPECT_STATUS(kCorruption, "too short",
                FindPending(storage_, kQueue, "nowhere", &buffer, &record));
}

}  // namespace
}  // namespace wq::storage
