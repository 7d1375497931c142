// Writes faster than RocksDB flushes them, and the tables that are made of them.
#include <filesystem>
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

// Keys that differ in their last bytes only: an index that had each of them would double the table.
TEST(OwnerDatabaseWrite, TablesHoldALargeKeyOnce) {
  const TestDirectory dir;
  constexpr size_t kRows = 500;
  constexpr size_t kKeyBytes = 4096;
  std::unique_ptr<Storage> storage;
  ASSERT_OK(OpenNew(dir / "store", &storage));
  MutationBatch batch;
  for (size_t row = 0; row < kRows; ++row) {
    const std::string digits = std::to_string(10'000 + row);
    batch.Put(Family::kDirty, std::string(kKeyBytes - digits.size(), 'k') + digits, "");
  }
  ASSERT_OK(storage->Write(batch, /*sync=*/false));
  ASSERT_OK(storage->Close());
  ASSERT_OK(OpenExisting(dir / "store", &storage));  // Moves the log into tables.
  size_t bytes = 0;
  for (const std::string& name : FilesWithSuffix(dir / "store", ".sst")) {
    bytes += std::filesystem::file_size(dir / "store/" + name);
  }
  EXPECT_GT(bytes, kKeyBytes);
  EXPECT_LE(bytes, kRows * kKeyBytes);
  EXPECT_OK(storage->Close());
}

}  // namespace
}  // namespace wq::storage
