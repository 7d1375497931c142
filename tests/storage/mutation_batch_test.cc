// What a MutationBatch holds is what RocksDB's own WriteBatch would hold.
#include "storage/mutation_batch.h"

#include <gtest/gtest.h>
#include <rocksdb/write_batch.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/storage/support.h"

namespace wq::storage {
namespace {

struct BatchRow {
  bool is_put = false;
  uint32_t family = 0;
  std::string key = {};
  std::string value = {};
  bool operator==(const BatchRow&) const = default;
};

void PrintTo(const BatchRow& row, std::ostream* os) {
  *os << (row.is_put ? "put " : "erase ") << row.family << ' ' << Hex(row.key) << '='
      << Hex(row.value);
}

std::vector<BatchRow> RowsOf(const MutationBatch& batch) {
  std::vector<BatchRow> rows;
  batch.ForEach([&rows](const Mutation& mutation) {
    rows.push_back({mutation.is_put, static_cast<uint32_t>(mutation.family),
                    std::string(mutation.key), std::string(mutation.value)});
  });
  return rows;
}

// What RocksDB finds in the bytes.
class RowReader final : public rocksdb::WriteBatch::Handler {
 public:
  rocksdb::Status PutCF(uint32_t family, const rocksdb::Slice& key,
                        const rocksdb::Slice& value) override {
    rows.push_back({true, family, key.ToString(), value.ToString()});
    return rocksdb::Status::OK();
  }
  rocksdb::Status DeleteCF(uint32_t family, const rocksdb::Slice& key) override {
    rows.push_back({false, family, key.ToString(), ""});
    return rocksdb::Status::OK();
  }
  std::vector<BatchRow> rows;
};

void ExpectRowsInRocksdb(const std::vector<BatchRow>& rows, MutationBatch* batch) {
  std::string bytes = batch->Lend();
  const rocksdb::WriteBatch read(bytes);
  EXPECT_EQ(read.Count(), rows.size());
  RowReader reader;
  EXPECT_TRUE(read.Iterate(&reader).ok());
  EXPECT_EQ(reader.rows, rows);
  batch->Return(std::move(bytes));
}

// Keys and values with lengths around those at which the encoding of the length grows by a byte.
std::vector<BatchRow> SomeRows() {
  std::vector<BatchRow> rows;
  for (uint32_t family = 0; family < kFamilyCount; ++family) {
    for (const size_t bytes : {0U, 1U, 127U, 128U, 129U, 16'383U, 16'384U, 2'097'152U}) {
      rows.push_back({true, family, std::string(bytes, 'k'), "v"});
      rows.push_back({true, family, std::string("k\0", 2), std::string(bytes, '\xFF')});
      rows.push_back({false, family, std::string(bytes, '\0'), ""});
    }
  }
  return rows;
}

void Add(const BatchRow& row, MutationBatch* batch) {
  const auto family = static_cast<Family>(row.family);
  if (row.is_put) {
    batch->Put(family, row.key, row.value);
  } else {
    batch->Erase(family, row.key);
  }
}

TEST(MutationBatch, IsReadBackByRocksdb) {
  const std::vector<BatchRow> rows = SomeRows();
  MutationBatch batch;
  for (const BatchRow& row : rows) Add(row, &batch);
  EXPECT_EQ(RowsOf(batch), rows);
  ExpectRowsInRocksdb(rows, &batch);
  EXPECT_EQ(RowsOf(batch), rows) << "as it was before it was lent";
  EXPECT_EQ(batch.count(), rows.size());
}

TEST(MutationBatch, AnEmptyOneIsReadBackByRocksdb) {
  MutationBatch batch;
  ExpectRowsInRocksdb({}, &batch);
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(batch.bytes(), 0U);
  EXPECT_TRUE(RowsOf(batch).empty());
  ExpectRowsInRocksdb({}, &batch);
}

TEST(MutationBatch, GrowsByWholeBatches) {
  MutationBatch batch;
  MutationBatch other;
  batch.Append(other);
  EXPECT_TRUE(batch.empty());
  std::vector<BatchRow> rows;
  for (const BatchRow& row : SomeRows()) {
    Add(row, &other);
    rows.push_back(row);
    if (rows.size() % 3 == 0) {
      batch.Append(other);
      other.Clear();
    }
  }
  batch.Append(other);
  ExpectRowsInRocksdb(rows, &batch);
  other.Swap(batch);
  EXPECT_TRUE(batch.empty());
  ExpectRowsInRocksdb(rows, &other);
  other.Clear();
  other.Erase(Family::kLanes, "k");
  ExpectRowsInRocksdb({{false, 2, "k", ""}}, &other);
}

}  // namespace
}  // namespace wq::storage
