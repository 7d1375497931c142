#include "storage/rocksdb_storage.h"

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <array>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "storage/check.h"
#include "storage/info_log.h"
#include "storage/log_ends.h"
#include "storage/mutant.h"
#include "storage/offline.h"
#include "storage/own_directory.h"
#include "storage/owner.h"
#include "storage/records.h"
#include "storage/rocksdb_setup.h"
#include "storage/store_directory.h"

namespace wq::storage {
namespace {

constexpr size_t kReadahead = size_t{1} << 20;

// The store is new, or was left unfinished. FORMAT last: what it stands beside is whole.
Status FinishCreation(const std::string& dir, const RocksdbOptions& options, Storage* storage,
                      Format* format) {
  StoreRecord record;
  Status status = GetStore(*storage, &record);
  if (status.code() == StatusCode::kNotFound) {
    record = {kFormatVersion, NewUuid(), options.now_us};
    MutationBatch batch;
    PutStore(record, &batch);
    status = storage->Write(batch, /*sync=*/true);
  }
  if (!status.ok()) return status;
  *format = {record.format_version, record.uuid};
  return WriteFormat(dir, *format);
}

// All that can be known of a store before RocksDB opens it: from then on files change.
Status CheckStore(const std::string& dir, const Format& format, LogEnds* ends) {
  Manifest manifest;
  Status status = CheckDatabase(dir, &manifest, ends);
  if (status.ok()) status = CheckTables(dir, manifest);
  if (status.ok()) status = CheckOpens(dir, manifest);
  if (!status.ok()) return status;
  StoreRecord record;
  const Status found = FindStoreRecord(dir, manifest, &record);
  return CheckStoreRecord(dir, found, record, format);
}

// A batch as RocksDB takes it, around the bytes of a MutationBatch, for as long as it lives.
class LentBatch final : public rocksdb::WriteBatch {
 public:
  explicit LentBatch(MutationBatch* lender) : WriteBatch(lender->Lend()), lender_(lender) {}
  ~LentBatch() override { lender_->TakeBack(std::move(rep_)); }
  LentBatch(const LentBatch&) = delete;
  LentBatch& operator=(const LentBatch&) = delete;

 private:
  MutationBatch* const lender_;
};

class RocksdbStorage final : public Storage {
 public:
  RocksdbStorage(std::string dir, const RocksdbOptions& options)
      : dir_(std::move(dir)), options_(options) {}
  // Without Close: nothing more is written, as if the process had ended here.
  ~RocksdbStorage() override { DropHandles(); }

  // Opens the store that was found, or makes it; `owner` is dropped with this object, or by Close.
  Status Open(const DirectoryLook& look, std::unique_ptr<OwnerLock> owner);

  Status Get(Family family, std::string_view key, std::string* value) const override;
  Status Scan(Family family, std::string_view begin, std::string_view end,
              const Visitor& visit) const override;
  Status Write(MutationBatch& batch, bool sync) override;
  Status Sync() override;
  Status Reopen() override;
  Status Close() override;

  // Replaces the store's own record. REQUIRES: Close follows.
  Status Renew(const StoreRecord& record);

 private:
  // What there is before: nothing, or what an unfinished creation left, or a whole store.
  enum class Found : uint8_t { kNothing, kUnfinished, kStore };
  // `ends`: of logs that are not whole.
  Status OpenDatabase(Found found, LogEnds ends);
  Status OpenAgain();
  Status Condition();
  Status Fail(Status status);
  rocksdb::Status WriteConverted(const rocksdb::WriteOptions& options, const MutationBatch& batch);
  Status CloseDatabase();
  void DropHandles();

  rocksdb::ColumnFamilyHandle* Handle(Family family) const {
    return families_[static_cast<size_t>(family)];
  }

  const std::string dir_;
  const RocksdbOptions options_;
  std::string uuid_;                             // Of the store; constant after Open.
  Status lost_;                                  // Not Ok: the ownership is, for good.
  std::shared_ptr<BackgroundError> background_;  // Of db_.
  std::unique_ptr<OwnerLock> owner_;             // Before db_: dropped after it.
  std::unique_ptr<rocksdb::Env> shortened_;      // Where a log has an end of its own. Before db_.
  std::unique_ptr<rocksdb::DB> db_;              // Null before Open and after Close.
  std::vector<rocksdb::ColumnFamilyHandle*> families_;  // By Family. Owned; before db_ is.
  bool numbers_fit_ = false;  // RocksDB's number of each family of db_ is ours.

  std::mutex mu_;
  Status failure_;                   // The first failed write, or why Reopen failed. Under mu_.
  std::atomic<bool> failed_{false};  // failure_ is not Ok.
};

Status RocksdbStorage::Open(const DirectoryLook& look, std::unique_ptr<OwnerLock> owner) {
  owner_ = std::move(owner);
  if (look.state == DirectoryState::kStore) {
    uuid_ = look.format.uuid;
    LogEnds ends;
    const Status status = CheckStore(dir_, look.format, &ends);
    if (!status.ok()) owner_->Withdraw();
    return status.ok() ? OpenDatabase(Found::kStore, std::move(ends)) : status;
  }
  Status status = OpenDatabase(look.has_database ? Found::kUnfinished : Found::kNothing, {});
  Format format;
  if (status.ok()) status = FinishCreation(dir_, options_, this, &format);
  uuid_ = format.uuid;
  return status;
}

// Opens the database, with all families.
Status RocksdbStorage::OpenDatabase(Found found, LogEnds ends) {
  background_ = std::make_shared<BackgroundError>();
  rocksdb::DBOptions db_options = DatabaseOptions(options_, background_);
  shortened_ = EnvWithLogEnds(db_options.env, std::move(ends));
  if (shortened_ != nullptr) db_options.env = shortened_.get();
  db_options.info_log = OpenInfoLog(dir_);
  // Only here, where the user asked for a new store: otherwise a lost CURRENT would become one.
  db_options.create_if_missing = found != Found::kStore;
  db_options.create_missing_column_families = found == Found::kUnfinished;
  const rocksdb::ColumnFamilyOptions family_options = FamilyOptions(options_);
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
  numbers_fit_ = true;
  for (size_t i = 0; i < families_.size(); ++i) {
    numbers_fit_ = numbers_fit_ && families_[i]->GetID() == i;
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

Status RocksdbStorage::Write(MutationBatch& batch, bool sync) {
  Status condition = Condition();
  if (!condition.ok()) return condition;
  rocksdb::WriteOptions options;
  options.sync = sync && !WQ_MUTANT(power_without_sync);
  rocksdb::Status status;
  if (numbers_fit_ && !WQ_MUTANT(half_a_batch)) {
    LentBatch lent(&batch);
    status = db_->Write(options, &lent);
  } else {
    status = WriteConverted(options, batch);
  }
  return status.ok() ? Status::Ok() : Fail(FromRocksdb(status, "writing " + dir_));
}

// Mutation by mutation, for a database in which the families have other numbers.
rocksdb::Status RocksdbStorage::WriteConverted(const rocksdb::WriteOptions& options,
                                               const MutationBatch& batch) {
  rocksdb::WriteBatch converted;
  batch.ForEach([this, &converted](const Mutation& mutation) {
    rocksdb::ColumnFamilyHandle* const family = Handle(mutation.family);
    // A WriteBatch in memory refuses only what is over 4 GiB.
    const rocksdb::Status status =
        mutation.is_put ? converted.Put(family, ToSlice(mutation.key), ToSlice(mutation.value))
                        : converted.Delete(family, ToSlice(mutation.key));
    WQ_CHECK(status.ok(), "a mutation does not fit a write batch");
    if (WQ_MUTANT(half_a_batch) && converted.Count() == 1) {
      db_->Write(rocksdb::WriteOptions(), &converted).PermitUncheckedError();
      converted.Clear();
    }
  });
  return db_->Write(options, &converted);
}

Status RocksdbStorage::Sync() {
  Status condition = Condition();
  if (!condition.ok()) return condition;
  if (WQ_MUTANT(power_without_sync)) return Status::Ok();
  const rocksdb::Status status = db_->SyncWAL();
  return status.ok() ? Status::Ok() : Fail(FromRocksdb(status, "syncing " + dir_));
}

// A new handle reads the log back from the files and writes what it finds to table files, synced: so
// it does not matter which pages of the old ones the kernel has dropped.
Status RocksdbStorage::Reopen() {
  DropHandles();
  Status status = OpenAgain();
  if (!status.ok()) DropHandles();
  const std::lock_guard lock(mu_);
  failure_ = status;
  failed_.store(!status.ok(), std::memory_order_release);
  return status;
}

Status RocksdbStorage::OpenAgain() {
  if (!lost_.ok()) return lost_;
  Status status = owner_->Check();
  if (status.code() == StatusCode::kLocked) lost_ = status;
  DirectoryLook look;
  if (status.ok()) status = LookAtDirectory(dir_, &look);
  if (!status.ok()) return status;
  if (look.state != DirectoryState::kStore) return NotAStore(dir_, look);
  if (look.format.uuid != uuid_) {
    return Status::NotFound(dir_ + " is another store now: " + look.format.uuid + ", not " + uuid_);
  }
  LogEnds ends;
  status = CheckStore(dir_, look.format, &ends);
  return status.ok() ? OpenDatabase(Found::kStore, std::move(ends)) : status;
}

Status RocksdbStorage::Close() {
  Status status = Condition();
  // A failed database is left as it is: what is on disk is a prefix, and flushing more of it could
  // only make that worse.
  if (status.ok()) status = CloseDatabase();
  DropHandles();
  if (status.ok() && owner_ != nullptr) owner_->MarkClosed();
  owner_.reset();
  return status;
}

Status RocksdbStorage::Renew(const StoreRecord& record) {
  MutationBatch batch;
  PutStore(record, &batch);
  Status status = Write(batch, /*sync=*/true);
  if (!status.ok()) return status;
  // Whoever looks for this record in the tables counts on there being one only (offline.h).
  rocksdb::CompactRangeOptions all;
  all.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  rocksdb::Status compacted = db_->Flush(rocksdb::FlushOptions(), families_);
  if (compacted.ok()) {
    compacted = db_->CompactRange(all, Handle(Family::kDefault), nullptr, nullptr);
  }
  return FromRocksdb(compacted, dir_);
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
  failed_.store(true, std::memory_order_release);
  return failure_;
}

// Whether the store may still be written.
Status RocksdbStorage::Condition() {
  if (failed_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(mu_);
    return failure_;
  }
  if (db_ == nullptr) return Status::ShuttingDown(dir_ + " is closed");
  Status status = background_->Get();
  if (status.ok()) status = owner_->CheckBeforeWrite();
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

// REQUIRES: `dir` has no slash at its end.
Status OpenDirectory(const std::string& dir, const RocksdbOptions& options,
                     std::unique_ptr<Storage>* storage) {
  DirectoryLook look;
  std::unique_ptr<OwnerLock> owner;
  Status status = OwnDirectory(dir, options, &look, &owner);
  if (!status.ok()) return status;
  auto opened = std::make_unique<RocksdbStorage>(dir, options);
  status = opened->Open(look, std::move(owner));
  if (status.ok()) *storage = std::move(opened);
  return status;
}

// REQUIRES: `dir` has no slash at its end.
Status RenewDirectory(const std::string& dir, int64_t now_us) {
  DirectoryLook look;
  std::unique_ptr<OwnerLock> owner;
  const RocksdbOptions options = {.now_us = now_us};
  Status status = OwnDirectory(dir, options, &look, &owner);
  if (!status.ok()) return status;
  RocksdbStorage opened(dir, options);
  status = opened.Open(look, std::move(owner));
  const StoreRecord record = {kFormatVersion, NewUuid(), now_us};
  if (status.ok()) status = opened.Renew(record);
  if (status.ok()) status = opened.Close();
  return status.ok() ? WriteFormat(dir, {record.format_version, record.uuid}) : status;
}

}  // namespace

Status RenewStore(const std::string& dir, int64_t now_us) {
  return RenewDirectory(WithoutTrailingSlashes(dir), now_us);
}

Status OpenRocksdb(const std::string& dir, const RocksdbOptions& options,
                   std::unique_ptr<Storage>* storage) {
  return OpenDirectory(WithoutTrailingSlashes(dir), options, storage);
}

}  // namespace wq::storage
