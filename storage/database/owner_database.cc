#include "storage/database/owner_database.h"

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <utility>
#include <vector>

#include "base/check.h"
#include "base/mutant.h"
#include "storage/check/open_check.h"
#include "storage/records.h"
#include "storage/rocksdb/info_log.h"

namespace wq::storage {
namespace {

constexpr size_t kReadahead = size_t{1} << 20;

// The store is new, or was left unfinished. FORMAT last: what it stands beside is whole.
Status FinishCreation(const std::string& dir, const OpenOptions& options, Storage* storage,
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

}  // namespace

OwnerDatabase::OwnerDatabase(std::string dir, const OpenOptions& options)
    : dir_(std::move(dir)), options_(options) {}

OwnerDatabase::~OwnerDatabase() { DropHandles(); }

Status OwnerDatabase::Open(const DirectoryInfo& look, std::unique_ptr<OwnerLock> owner) {
  owner_ = std::move(owner);
  if (look.state == DirectoryState::kStore) {
    uuid_ = look.format.uuid;
    ValidLengths ends;
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
Status OwnerDatabase::OpenDatabase(Found found, ValidLengths ends) {
  background_ = std::make_shared<BackgroundError>();
  rocksdb::DBOptions db_options = DatabaseOptions(options_, background_);
  shortened_ = EnvWithValidLengths(db_options.env, std::move(ends));
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

Status OwnerDatabase::Get(Family family, std::string_view key, std::string* value) const {
  const rocksdb::Status status =
      db_->Get(rocksdb::ReadOptions(), Handle(family), ToSlice(key), value);
  if (status.IsNotFound()) return Status::NotFound("no such record");
  return FromRocksdb(status, dir_);
}

Status OwnerDatabase::Scan(Family family, std::string_view begin, std::string_view end,
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

Status OwnerDatabase::Write(MutationBatch& batch, bool sync) {
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
rocksdb::Status OwnerDatabase::WriteConverted(const rocksdb::WriteOptions& options,
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

Status OwnerDatabase::Sync() {
  Status condition = Condition();
  if (!condition.ok()) return condition;
  if (WQ_MUTANT(power_without_sync)) return Status::Ok();
  const rocksdb::Status status = db_->SyncWAL();
  return status.ok() ? Status::Ok() : Fail(FromRocksdb(status, "syncing " + dir_));
}

// A new handle reads the log back from the files and writes what it finds to table files, synced: so
// it does not matter which pages of the old ones the kernel has dropped.
Status OwnerDatabase::Reopen() {
  DropHandles();
  Status status = OpenAgain();
  if (!status.ok()) DropHandles();
  const MutexLock lock(mu_);
  failure_ = status;
  failed_.store(!status.ok(), std::memory_order_release);
  return status;
}

Status OwnerDatabase::OpenAgain() {
  if (!lost_.ok()) return lost_;
  Status status = owner_->Check();
  if (status.code() == StatusCode::kLocked) lost_ = status;
  DirectoryInfo look;
  if (status.ok()) status = InspectDirectory(dir_, &look);
  if (!status.ok()) return status;
  if (look.state != DirectoryState::kStore) return NotAStore(dir_, look);
  if (look.format.uuid != uuid_) {
    return Status::NotFound(dir_ + " is another store now: " + look.format.uuid + ", not " + uuid_);
  }
  ValidLengths ends;
  status = CheckStore(dir_, look.format, &ends);
  return status.ok() ? OpenDatabase(Found::kStore, std::move(ends)) : status;
}

Status OwnerDatabase::Close() {
  Status status = Condition();
  // A failed database is left as it is: what is on disk is a prefix, and flushing more of it could
  // only make that worse.
  if (status.ok()) status = CloseDatabase();
  DropHandles();
  if (status.ok() && owner_ != nullptr) owner_->MarkClosed();
  owner_.reset();
  return status;
}

Status OwnerDatabase::Renew(const StoreRecord& record) {
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

Status OwnerDatabase::CloseDatabase() {
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
Status OwnerDatabase::Fail(Status status) {
  const MutexLock lock(mu_);
  if (failure_.ok()) failure_ = std::move(status);
  failed_.store(true, std::memory_order_release);
  return failure_;
}

// Whether the store may still be written.
Status OwnerDatabase::Condition() {
  if (failed_.load(std::memory_order_acquire)) {
    const MutexLock lock(mu_);
    return failure_;
  }
  if (db_ == nullptr) return Status::ShuttingDown(dir_ + " is closed");
  Status status = background_->Get();
  if (status.ok()) status = owner_->CheckBeforeWrite();
  if (status.ok()) return status;
  return Fail(std::move(status));
}

void OwnerDatabase::DropHandles() {
  if (db_ == nullptr) return;
  for (rocksdb::ColumnFamilyHandle* family : families_) {
    db_->DestroyColumnFamilyHandle(family).PermitUncheckedError();
  }
  families_.clear();
  db_.reset();
}

}  // namespace wq::storage
