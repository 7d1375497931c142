// What the tests of records share: a storage in memory, and values that break careless codecs.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "storage/records.h"
#include "tests/storage/support.h"
#include "tests/support/memory_storage.h"

namespace wq::storage {

inline constexpr QueueId kQueue = 7;
inline constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
inline constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
inline constexpr Lane kLowestLane = std::numeric_limits<Lane>::min();
inline constexpr Lane kHighestLane = std::numeric_limits<Lane>::max();

// Keys that break careless codecs.
inline const std::vector<std::string> kOddKeys = {
    "a",        std::string(1, '\0'),  std::string("nul\0inside", 10), "\xff\xff\xff\xff",
    "\xc3\x28", std::string(4096, 'k')};

inline const std::string kOddError("bad\0\xff", 5);

// Empty: none.
inline const std::vector<std::string> kOddGroups = {
    "", "g", std::string(1, '\0'), std::string("nul\0\xff", 5), std::string(1024, 'g')};

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
