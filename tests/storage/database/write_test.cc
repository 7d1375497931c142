// Writes faster than RocksDB flushes them.
#include <string>

#include "storage/open.h"
#include "storage/storage.h"
#include "tests/storage/support.h"

namespace wq::storage {
namespace {

// RocksDB stops writes meanwhile. That delays them, and fails none.
TEST(OwnerDatabaseWrite, WaitsForFlushesThatLagBehind) {
  const TestDirectory dir;
  std::unique_ptr<Storage> storage;
  ASSERT_OK(OpenStorage(dir / "store",
                        {.create_if_missing = true, .write_buffer_bytes = size_t{64} << 10},
                        &storage));
  constexpr int kRows = 300;
  const std::string value(size_t{16} << 10, 'v');
  for (int row = 0; row < kRows; ++row) {
    MutationBatch batch;  // Fills the buffers of two families.
    for (int i = 0; i < 8; ++i) {
      const std::string key = std::to_string(8 * row + i);
      batch.Put(i % 2 == 0 ? Family::kDirty : Family::kLanes, key, value);
    }
    ASSERT_OK(storage->Write(batch, /*sync=*/row % 10 == 0));
  }
  int rows = 0;
  for (const Family family : {Family::kDirty, Family::kLanes}) {
    ASSERT_OK(storage->Scan(family, "", "", [&](std::string_view, std::string_view read) {
      rows += read == value ? 1 : 0;
      return true;
    }));
  }
  EXPECT_EQ(rows, 8 * kRows);
  EXPECT_OK(storage->Close());
}

}  // namespace
}  // namespace wq::storage
