// What the tests of records share: a storage in memory, and the limits of numbers.
#pragma once

#include <limits>
#include <memory>

#include "storage/records.h"
#include "tests/storage/support.h"
#include "tests/support/memory_storage.h"

namespace wq::storage {

inline constexpr QueueId kQueue = 7;
inline constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
inline constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
inline constexpr Lane kLowestLane = std::numeric_limits<Lane>::min();
inline constexpr Lane kHighestLane = std::numeric_limits<Lane>::max();

class RecordsTest : public ::testing::Test {
 protected:
  void Apply() {
    ASSERT_OK(storage_.Write(batch_, false));
    batch_.Clear();
  }

  MutationBatch batch_;
  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  MemoryStorage storage_{disk_};
};

}  // namespace wq::storage
