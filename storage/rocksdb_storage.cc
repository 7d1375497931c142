#include "storage/rocksdb_storage.h"

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <array>
#include <mutex>
#include <utility>
#include <vector>

#include "storage/check.h"
#include "storage/info_log.h"
#include "storage/offline.h"
#include "storage/owner.h"
#include "storage/records.h"
#include "storage/rocksdb_setup.h"
#include "storage/store_directory.h"

namespace wq::storage {
namespace {

constexpr size_t kReadahead = size_t{1} << 20;

class RocksdbStorage final : public Storage {
 public:
  explicit RocksdbStorage(std::string dir) : dir_(std::move(dir)) {}
  // Without Close: nothing more is written, as if the process had ended here.
  ~RocksdbStorage() override { DropHandles(); }

  // What Open finds: nothing, or what an unfinished creation left, or a whole store.
  enum class Found : uint8_t { kNothing, kUnfinished, kStore };
  // Opens the database, with all families; `owner` is dropped with this object, or by Close.
  Status Open(const RocksdbOptions& options, Found found, std::unique_ptr<OwnerLock> owner);

  Status Get(Family family, std::string_view key, std::string* value) const override;
  Status Scan(Family family, std::string_view begin, std::string_view end,
              const Visitor& visit) const override;
  Status Write(const MutationBatch& batch, bool sync) override;
  Status Sync() override;
  Status Close() override;

 private:
  Status Condition();
  Status Fail(Status status);
  Status CloseDatabase();
  void DropHandles();

  rocksdb::ColumnFamilyHandle* Handle(Family family) const {
    return families_[static_cast<size_t>(family)];
  }

  const std::string dir_;
  const std::shared_ptr<BackgroundError> background_ = std::make_shared<BackgroundError>();
  std::unique_ptr<OwnerLock> owner_;                    // Before db_: dropped after it.
  std::unique_ptr<rocksdb::DB> db_;                     // Null before Open and after Close.
  std::vector<rocksdb::ColumnFamilyHandle*> families_;  // By Family. Owned; before db_ is.
  rocksdb::WriteBatch writing_;  // For Write alone: one writer at a time. Keeps its memory.

  std::mutex mu_;
  Status failure_;  // The first failed write; never Ok again. Under mu_.
};

Status RocksdbStorage::Open(const RocksdbOptions& options, Found found,
                            std::unique_ptr<OwnerLock> owner) {
  owner_ = std::move(owner);
  rocksdb::DBOptions db_options = DatabaseOptions(options, background_);
  // Only here, where the user asked for a new store: otherwise a lost CURRENT would become one.
  db_options.create_if_missing = found != Found::kStore;
  db_options.create_missing_column_families = found == Found::kUnfinished;
  const rocksdb::ColumnFamilyOptions family_options = FamilyOptions(options);
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (const char* name : kFamilyNames) descriptors.emplace_back(name, family_options);
  // In a new database the families are made by one call: RocksDB's opening makes them one by one, and
  // writes and syncs its file of options for each.
  if (found == Found::kNothing) descriptors.resize(1);
  rocksdb::DB* db = nullptr;
  rocksdb::Status status = rocksdb::DB::Open(db_options, dir_, descriptors, &families_, &db);
  if (!status.ok()) return FromRocksdbOpen(status, dir_);
  db_.reset(db);
  if (found == Found::kNothing) {
    std::vector<rocksdb::ColumnFamilyHandle*> made;
    const std::vector<std::string> names(std::begin(kFamilyNames) + 1, std::end(kFamilyNames));
    status = db_->CreateColumnFamilies(family_options, names, &made);
    families_.insert(families_.end(), made.begin(), made.end());
    if (!status.ok()) return FromRocksdb(status, "creating " + dir_);
  }
  return background_->Get();
}

Status RocksdbStorage::Get(Family family, std::string_view key, std::string* value) const {
  const rocksdb::Status status =
      db_->Get(rocksdb::ReadOptions(), Handle(family), ToSlice(key), value);
  if (status.IsNotFound()) return Status::NotFound("no such record");
  return FromRocksdb(status, dir_);
}

Status RocksdbStorage::Scan(Family family, std::string_view begin, std::string_view end,
                            const Visitor& visit) const {
  const rocksdb::Slice upper_bound = ToSlice(end);
  rocksdb::ReadOptions options;
  options.fill_cache = false;  // Recovery reads everything, once.
  options.readahead_size = kReadahead;
  if (!end.empty()) options.iterate_upper_bound = &upper_bound;
  const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(options, Handle(family)));
  for (it->Seek(ToSlice(begin)); it->Valid(); it->Next()) {
    if (!visit(it->key().ToStringView(), it->value().ToStringView())) return Status::Ok();
  }
  return FromRocksdb(it->status(), dir_);
}

Status RocksdbStorage::Write(const MutationBatch& batch, bool sync) {
  Status condition = Condition();
  if (!condition.ok()) return condition;
  writing_.Clear();
  batch.ForEach([this](const Mutation& mutation) {
    rocksdb::ColumnFamilyHandle* const family = Handle(mutation.family);
    // A WriteBatch in memory refuses only what is over 4 GiB.
    const rocksdb::Status status =
        mutation.is_put ? writing_.Put(family, ToSlice(mutation.key), ToSlice(mutation.value))
                        : writing_.Delete(family, ToSlice(mutation.key));
    WQ_CHECK(status.ok(), "a mutation does not fit a write batch");
  });
  rocksdb::WriteOptions options;
  options.sync = sync;
  const rocksdb::Status status = db_->Write(options, &writing_);
  return status.ok() ? Status::Ok() : Fail(FromRocksdb(status, "writing " + dir_));
}

Status RocksdbStorage::Sync() {
  Status condition = Condition();
  if (!condition.ok()) return condition;
  const rocksdb::Status status = db_->SyncWAL();
  return status.ok() ? Status::Ok() : Fail(FromRocksdb(status, "syncing " + dir_));
}

Status RocksdbStorage::Close() {
  Status status = Condition();
  // A failed database is left as it is: what is on disk is a prefix, and flushing more of it could
  // only make that worse.
  if (status.ok()) status = CloseDatabase();
  DropHandles();
  owner_.reset();
  return status;
}

Status RocksdbStorage::CloseDatabase() {
  const std::string where = "closing " + dir_;
  rocksdb::Status status = db_->SyncWAL();
  // With every family in table files the next opening has nothing to replay. Flush syncs its files.
  if (status.ok()) status = db_->Flush(rocksdb::FlushOptions(), families_);
  if (status.ok()) status = db_->SyncWAL();
  if (!status.ok()) return FromRocksdb(status, where);
  for (rocksdb::ColumnFamilyHandle* family : families_) {
    const rocksdb::Status dropped = db_->DestroyColumnFamilyHandle(family);
    WQ_CHECK(dropped.ok(), "a family cannot be let go");
  }
  families_.clear();
  status = db_->Close();
  if (!status.ok()) return FromRocksdb(status, where);
  return background_->Get();
}

// After a failed write or sync nobody knows what is on disk: the bytes of that batch may be there,
// in part, or not at all; and the kernel reports a failed fsync once and then forgets the dirty
// pages, so a repeated one that succeeds proves nothing. A later write that succeeds on the same
// file could put acknowledged records behind a hole that recovery stops at. So the first failure is
// the last call.
Status RocksdbStorage::Fail(Status status) {
  const std::lock_guard lock(mu_);
  if (failure_.ok()) failure_ = std::move(status);
  return failure_;
}

// Whether the store may still be written.
Status RocksdbStorage::Condition() {
  {
    const std::lock_guard lock(mu_);
    if (!failure_.ok()) return failure_;
  }
  if (db_ == nullptr) return Status::ShuttingDown(dir_ + " is closed");
  Status status = background_->Get();
  if (status.ok()) status = owner_->Check();
  if (status.ok()) return status;
  return Fail(std::move(status));
}

void RocksdbStorage::DropHandles() {
  if (db_ == nullptr) return;
  for (rocksdb::ColumnFamilyHandle* family : families_) {
    db_->DestroyColumnFamilyHandle(family).PermitUncheckedError();
  }
  families_.clear();
  db_.reset();
}

// The store is new, or was left unfinished. FORMAT last: what it stands beside is whole.
Status FinishCreation(const std::string& dir, const RocksdbOptions& options, Storage* storage) {
  StoreRecord record;
  Status status = GetStore(*storage, &record);
  if (status.code() == StatusCode::kNotFound) {
    record = {kFormatVersion, NewUuid(), options.now_us};
    MutationBatch batch;
    PutStore(record, &batch);
    status = storage->Write(batch, /*sync=*/true);
  }
  if (!status.ok()) return status;
  return WriteFormat(dir, {record.format_version, record.uuid});
}

// Whether what was found may be opened with these options.
Status CheckWanted(const std::string& dir, const RocksdbOptions& options,
                   const DirectoryLook& look) {
  if (look.state == DirectoryState::kStore) {
    return options.error_if_exists ? Status::AlreadyExists(dir + " is a store already")
                                   : Status::Ok();
  }
  if (look.state == DirectoryState::kUnfinished) {
    Status status = CheckUnfinished(dir, look);
    if (!status.ok()) return status;
  }
  if (!options.create_if_missing) return NotAStore(dir, look);
  if (look.state == DirectoryState::kForeign) {
    return Status::InvalidArgument("cannot make a store in " + dir + ": it holds " +
                                   look.foreign_file);
  }
  return Status::Ok();
}

// Finds out what `dir` is and makes this process its owner, if it may be opened with these options.
Status OwnDirectory(const std::string& dir, const RocksdbOptions& options, DirectoryLook* look,
                    std::unique_ptr<OwnerLock>* owner) {
  Status status = LookAtDirectory(dir, look);
  if (status.ok()) status = CheckWanted(dir, options, *look);
  if (status.ok() && look->state == DirectoryState::kMissing) status = MakeDirectory(dir);
  if (status.ok()) status = OwnerLock::Acquire(dir, owner);
  // Once more, as the owner: another process may have made or changed the store meanwhile.
  if (status.ok()) status = LookAtDirectory(dir, look);
  if (status.ok()) status = CheckWanted(dir, options, *look);
  if (!status.ok() && *owner != nullptr) (*owner)->Withdraw();
  return status;
}

// All that can be known of a store before RocksDB opens it: from then on files change.
Status CheckStore(const std::string& dir, const Format& format) {
  Manifest manifest;
  Status status = CheckDatabase(dir, &manifest);
  if (status.ok()) status = CheckTables(dir, manifest);
  if (status.ok()) status = CheckOpens(dir);
  if (!status.ok()) return status;
  StoreRecord record;
  const Status found = FindStoreRecord(dir, manifest, &record);
  return CheckStoreRecord(dir, found, record, format);
}

// REQUIRES: `dir` has no slash at its end.
Status OpenDirectory(const std::string& dir, const RocksdbOptions& options,
                     std::unique_ptr<Storage>* storage) {
  DirectoryLook look;
  std::unique_ptr<OwnerLock> owner;
  Status status = OwnDirectory(dir, options, &look, &owner);
  if (!status.ok()) return status;
  const bool create = look.state != DirectoryState::kStore;
  if (!create) {
    status = CheckStore(dir, look.format);
    if (!status.ok()) {
      owner->Withdraw();
      return status;
    }
  }
  auto opened = std::make_unique<RocksdbStorage>(dir);
  using Found = RocksdbStorage::Found;
  const Found found = !create             ? Found::kStore
                      : look.has_database ? Found::kUnfinished
                                          : Found::kNothing;
  status = opened->Open(options, found, std::move(owner));
  if (status.ok() && create) status = FinishCreation(dir, options, opened.get());
  if (status.ok()) *storage = std::move(opened);
  return status;
}

}  // namespace

Status OpenRocksdb(const std::string& dir, const RocksdbOptions& options,
                   std::unique_ptr<Storage>* storage) {
  return OpenDirectory(WithoutTrailingSlashes(dir), options, storage);
}

}  // namespace wq::storage
