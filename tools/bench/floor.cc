#include "tools/bench/floor.h"

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <vector>

#include "storage/records.h"
#include "storage/rocksdb/setup.h"
#include "tools/bench/bench.h"
#include "wq/options.h"

namespace wq::bench {
namespace {

constexpr storage::QueueId kQueue = 1;
constexpr int64_t kSomeTimeUs = 1'700'000'000'000'000;
constexpr std::string_view kSampleKey = "k";

void RequireOk(const rocksdb::Status& status) {
  Require(status.ok(), "the floor's RocksDB: " + status.ToString());
}

// The shape of the one record in `batch`, which was put for kSampleKey.
Shape ShapeOf(const storage::MutationBatch& batch, bool numbered) {
  Shape shape;
  batch.ForEach([&](const storage::Mutation& mutation) {
    const size_t prefix_bytes = mutation.key.size() - kSampleKey.size();
    shape = {.family = mutation.family,
             .prefix = std::string(mutation.key.substr(0, prefix_bytes)),
             .value = std::string(mutation.value),
             .numbered = numbered};
  });
  return shape;
}

Shape ShapeInLane(Lane lane) {
  storage::MutationBatch batch;
  // A sequence in the middle of a million.
  storage::PutPending(
      kQueue, {.key = kSampleKey, .lane = lane, .sequence = 500'000, .added_at_us = kSomeTimeUs},
      &batch);
  return ShapeOf(batch, true);
}

storage::OpenOptions StoresOptions() {
  const StoreOptions store;
  return {.create_if_missing = true,
          .error_if_exists = false,
          .max_wal_bytes = store.max_wal_bytes,
          .write_buffer_bytes = store.write_buffer_bytes,
          .now_us = kSomeTimeUs};
}

}  // namespace

Shape PendingShape() { return ShapeInLane(kFastLane); }
Shape SlowLaneShape() { return ShapeInLane(kSlowLane); }

Shape DelayedShape() {
  storage::MutationBatch batch;
  storage::PutDelayed(kQueue,
                      {.key = kSampleKey,
                       .ready_at_us = kSomeTimeUs,
                       .delay_us = 3'600'000'000,
                       .added_at_us = kSomeTimeUs},
                      &batch);
  return ShapeOf(batch, true);
}

Shape FailureShape() {
  storage::MutationBatch batch;
  storage::PutFailures(kQueue,
                       {.key = kSampleKey,
                        .count = 1,
                        .first_at_us = kSomeTimeUs,
                        .last_at_us = kSomeTimeUs,
                        .last_error = "timed out"},
                       &batch);
  return ShapeOf(batch, false);
}

// --- Floor ---

struct Floor::Impl {
  std::unique_ptr<rocksdb::DB> db;
  std::vector<rocksdb::ColumnFamilyHandle*> families;  // By Family.
};

Floor::Floor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Floor::~Floor() {
  for (rocksdb::ColumnFamilyHandle* family : impl_->families) {
    RequireOk(impl_->db->DestroyColumnFamilyHandle(family));
  }
  RequireOk(impl_->db->Close());
}

std::unique_ptr<Floor> Floor::OpenDatabase(const std::string& dir, bool create) {
  const storage::OpenOptions options = StoresOptions();
  rocksdb::DBOptions db_options =
      storage::DatabaseOptions(options, std::make_shared<storage::BackgroundError>());
  db_options.create_if_missing = create;
  db_options.create_missing_column_families = create;
  rocksdb::ColumnFamilyOptions family_options = storage::FamilyOptions(options);
  // A store flushes its families itself when this much is in one; bare RocksDB does it by its size.
  family_options.write_buffer_size = options.write_buffer_bytes;
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (const char* name : storage::kFamilyNames) {
    descriptors.emplace_back(name, family_options);
  }
  auto impl = std::make_unique<Impl>();
  rocksdb::DB* db = nullptr;
  RequireOk(rocksdb::DB::Open(db_options, dir, descriptors, &impl->families, &db));
  impl->db.reset(db);
  return std::unique_ptr<Floor>(new Floor(std::move(impl)));
}

std::unique_ptr<Floor> Floor::Create(const std::string& dir) { return OpenDatabase(dir, true); }
std::unique_ptr<Floor> Floor::Open(const std::string& dir) { return OpenDatabase(dir, false); }

void Floor::Sync() { RequireOk(impl_->db->SyncWAL()); }

size_t Floor::CountRecords() const {
  size_t count = 0;
  for (size_t family = 1; family < impl_->families.size(); ++family) {
    const std::unique_ptr<rocksdb::Iterator> it(
        impl_->db->NewIterator(rocksdb::ReadOptions(), impl_->families[family]));
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      ++count;
    }
    RequireOk(it->status());
  }
  return count;
}

// --- Batch ---

struct Floor::Batch::Impl {
  explicit Impl(Floor::Impl* of) : floor(of) {}

  Floor::Impl* const floor;
  rocksdb::WriteBatch batch;
  std::string key;

  const std::string& KeyOf(const Shape& shape, uint64_t number, std::string_view bytes) {
    key.assign(shape.prefix);
    if (shape.numbered) {
      const uint64_t big = __builtin_bswap64(number);
      key.replace(key.size() - sizeof big, sizeof big, reinterpret_cast<const char*>(&big),
                  sizeof big);
    }
    return key.append(bytes);
  }
};

Floor::Batch::Batch(Floor* floor) : impl_(new Impl(floor->impl_.get())) {}
Floor::Batch::~Batch() = default;

void Floor::Batch::Put(const Shape& shape, uint64_t number, std::string_view key) {
  RequireOk(impl_->batch.Put(impl_->floor->families[static_cast<size_t>(shape.family)],
                             impl_->KeyOf(shape, number, key), shape.value));
}

void Floor::Batch::Erase(const Shape& shape, uint64_t number, std::string_view key) {
  RequireOk(impl_->batch.Delete(impl_->floor->families[static_cast<size_t>(shape.family)],
                                impl_->KeyOf(shape, number, key)));
}

void Floor::Batch::Write(bool sync) {
  rocksdb::WriteOptions options;
  options.sync = sync;
  RequireOk(impl_->floor->db->Write(options, &impl_->batch));
  impl_->batch.Clear();
}

size_t Floor::Batch::count() const { return impl_->batch.Count(); }

}  // namespace wq::bench
