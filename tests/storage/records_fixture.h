// What the tests of records share: a storage in memory.
#pragma once

#include <memory>

#include "storage/records.h"
#include "tests/storage/support.h"
#include "tests/support/memory_storage.h"

namespace wq::storage {

inline constexpr QueueId kQueue = 7;

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
