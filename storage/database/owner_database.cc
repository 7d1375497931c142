#include "storage/database/owner_database.h"

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/boot_id.h"
#include "base/check.h"
#include "base/file_calls.h"
#include "base/mutant.h"
#include "base/resources.h"
#include "storage/check/open_check.h"
#include "storage/process_log/format.h"
#include "storage/process_log/read_process_log.h"
#include "storage/record_keys.h"
#include "storage/records.h"
#include "storage/rocksdb/info_log.h"
#include "storage/rocksdb/opening_env.h"

namespace wq::storage {
namespace {

constexpr size_t kReadahead = size_t{1} << 20;
// As RocksDB's own least: a smaller buffer would be flushed at each write.
constexpr size_t kSmallestBuffer = size_t{64} << 10;

// For a new or unfinished store. FORMAT is written last: a store with FORMAT is complete.
Status FinishCreation(const std::string& dir, const OpenOptions& options, Storage* storage,
                      Format* format) {
  StoreRecord record;
  Status status = GetStore(*storage, &record);
  if (status.code() == StatusCode::kNotFound) {
    record = {kFormatVersion, options.uuid.empty() ? NewUuid() : options.uuid, options.now_us};
    MutationBatch batch;
    PutStore(record, &batch);
    status = storage->Write(batch, /*sync=*/true);
  }
  if (!status.ok()) return status;
  *format = {record.format_version, record.uuid};
  return WriteFormat(dir, *format);
}

// A RocksDB batch that borrows the bytes of a MutationBatch during its lifetime.
class LentBatch final : public rocksdb::WriteBatch {
 public:
  explicit LentBatch(MutationBatch* lender) : WriteBatch(lender->Lend()), lender_(lender) {}
  ~LentBatch() override { lender_->Return(std::move(rep_)); }
  LentBatch(const LentBatch&) = delete;
  LentBatch& operator=(const LentBatch&) = delete;

 private:
  MutationBatch* const lender_;
};

// Of a mutant: the first mutation of a batch, apart from the others.
void WriteFirst(rocksdb::DB* db, const MutationBatch& batch) {
  MutationBatch first;
  batch.ForEach([&first](const Mutation& mutation) {
    if (!first.empty()) return;
    if (mutation.is_put) {
      first.Put(mutation.family, mutation.key, mutation.value);
    } else {
      first.Erase(mutation.family, mutation.key);
    }
  });
  LentBatch lent(&first);
  db->Write(rocksdb::WriteOptions(), &lent).PermitUncheckedError();
}

// Storage::Scan, by `options`.
Status ScanDatabase(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family,
                    rocksdb::ReadOptions options, const std::string& dir, std::string_view begin,
                    std::string_view end, const Reader::Visitor& visit) {
  const rocksdb::Slice upper_bound = ToSlice(end);
  options.fill_cache = false;  // Recovery reads everything, once.
  options.readahead_size = kReadahead;
  if (!end.empty()) options.iterate_upper_bound = &upper_bound;
  const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator(options, family));
  for (it->Seek(ToSlice(begin)); it->Valid(); it->Next()) {
    if (!visit(it->key().ToStringView(), it->value().ToStringView())) return Status::Ok();
  }
  return FromRocksdb(it->status(), dir);
}

// The database as it is at the construction.
class SnapshotReader final : public Reader {
 public:
  SnapshotReader(rocksdb::DB* db, const std::vector<rocksdb::ColumnFamilyHandle*>& families,
                 std::string dir)
      : db_(db), families_(families), dir_(std::move(dir)), snapshot_(db->GetSnapshot()) {}
  ~SnapshotReader() override { db_->ReleaseSnapshot(snapshot_); }
  SnapshotReader(const SnapshotReader&) = delete;
  SnapshotReader& operator=(const SnapshotReader&) = delete;

  Status Get(Family family, std::string_view key, std::string* value) const override {
    rocksdb::ReadOptions options;
    options.snapshot = snapshot_;
    const rocksdb::Status status =
        db_->Get(options, families_[static_cast<size_t>(family)], ToSlice(key), value);
    if (status.IsNotFound()) return Status::NotFound("no such record");
    return FromRocksdb(status, dir_);
  }
  Status Scan(Family family, std::string_view begin, std::string_view end,
              const Visitor& visit) const override {
    rocksdb::ReadOptions options;
    options.snapshot = snapshot_;
    return ScanDatabase(db_, families_[static_cast<size_t>(family)], options, dir_, begin, end,
                        visit);
  }

 private:
  rocksdb::DB* const db_;
  const std::vector<rocksdb::ColumnFamilyHandle*> families_;
  const std::string dir_;
  const rocksdb::Snapshot* const snapshot_;
};

}  // namespace

OwnerDatabase::OwnerDatabase(std::string dir, const OpenOptions& options)
    : dir_(std::move(dir)), options_(options) {}

OwnerDatabase::~OwnerDatabase() { DropHandles(); }

Status OwnerDatabase::Open(const DirectoryInfo& found, std::unique_ptr<OwnerLock> owner) {
  owner_ = std::move(owner);
  if (found.has_claim && !options_.replicated) {  // An opening as a replica was given up.
    if (Status status = RemoveClaim(dir_); !status.ok()) return status;
  }
  if (found.state == DirectoryState::kStore) {
    uuid_ = found.format.uuid;
    ValidLengths valid_lengths;
    Status status = CheckStore(dir_, found.format, &valid_lengths);
    if (!status.ok()) {
      owner_->Withdraw();
      return status;
    }
    status = OpenDatabase(Found::kStore, std::move(valid_lengths));
    return status.ok() ? BeginLog(found.format) : status;
  }
  Status status = OpenDatabase(found.has_database ? Found::kUnfinished : Found::kNothing, {});
  Format format;
  if (status.ok()) status = FinishCreation(dir_, options_, this, &format);
  uuid_ = format.uuid;
  return status.ok() ? BeginLog(format) : status;
}

Status OwnerDatabase::BeginLog(const Format& found) {
  ProcessLogRecord last;
  MutationBatch batch;
  FoundProcessLogs logs;
  Status status = logs.Read(dir_);
  if (status.ok()) status = GetProcessLog(*this, &last);
  if (status.ok()) status = logs.AppendUnwritten(last, uuid_, &batch);
  if (status.ok()) status = KeepAhead(&batch);
  if (status.ok()) status = AppendRemoved(&batch);
  if (!status.ok()) return status;
  const ProcessLogHeader header = {
      .store_uuid = uuid_,
      .boot_id = BootId(),
      .number = last.number + 1,
      .capacity = (options_.process_log_bytes + kLogPageBytes - 1) / kLogPageBytes * kLogPageBytes};
  // Without a log the store works as well, but its calls wait for the database.
  log_status_ = header.capacity > 0 ? ProcessLog::Create(dir_, header, &log_)
                                    : Status::NotFound("process_log_bytes is 0");
  const bool made = log_ != nullptr;
  if (found.version < kFormatVersion) {
    status = WriteFormat(dir_, {kFormatVersion, uuid_});
    if (!status.ok()) return status;
  }
  if (!made && last.number == 0) return batch.empty() ? status : Write(batch, /*sync=*/true);
  PutProcessLog({.number = header.number, .closed = !made}, &batch);
  // Before the last log is removed.
  status = Write(batch, /*sync=*/last.InUse());
  if (status.ok()) RemoveOldLogs();
  return status;
}

// Removes what an earlier version has written, with a line in the info log.
Status OwnerDatabase::AppendRemoved(MutationBatch* batch) const {
  size_t rows = 0;
  Status status = Scan(Family::kDefault, kRemovedPrefix, PrefixEnd(kRemovedPrefix),
                       [&](std::string_view key, std::string_view) {
                         batch->Erase(Family::kDefault, key);
                         return ++rows > 0;
                       });
  if (rows > 0) {
    rocksdb::Warn(db_->GetDBOptions().info_log,
                  "dropped %zu limits of groups, which are options of a queue now", rows);
  }
  return status;
}

// The log of the replicas has some of it, none, or something else: LocalReplica finds out.
Status OwnerDatabase::KeepAhead(MutationBatch* unwritten) const {
  ReplicationRecord replication;
  Status status = GetReplication(*this, &replication);
  if (status.code() == StatusCode::kNotFound) return Status::Ok();
  if (!status.ok()) return status;
  if (!options_.replicated) {
    return Status::NotSupported(dir_ + " is a replica: open it with its replication, or make " +
                                "it a store of this machine only (wqctl replication remove)");
  }
  if (unwritten->empty() || WQ_MUTANT(process_log_before_the_log)) return status;
  MutationBatch aside;
  PutAhead({.epoch = replication.epoch,
            .sequence = replication.sequence,
            .mutations = std::string(unwritten->mutations())},
           &aside);
  unwritten->Swap(aside);
  return status;
}

Status OwnerDatabase::EndLog() {
  if (log_ == nullptr || log_->Used() > 0) return Status::Ok();
  MutationBatch batch;
  PutProcessLog({.number = log_->number(), .position = log_->end(), .closed = true}, &batch);
  return Write(batch, /*sync=*/true);
}

void OwnerDatabase::RemoveOldLogs() const {
  static_cast<void>(CurrentFileCalls().Remove(dir_ + "/" + kUnfinishedProcessLog));
  std::vector<uint64_t> numbers;
  static_cast<void>(ListProcessLogs(dir_, &numbers));
  for (const uint64_t number : numbers) {
    if (log_ != nullptr && number == log_->number()) continue;
    static_cast<void>(CurrentFileCalls().Remove(dir_ + "/" + ProcessLogName(number)));
  }
}

// Opens the database, with all families.
Status OwnerDatabase::OpenDatabase(Found found, ValidLengths valid_lengths) {
  background_ = std::make_shared<BackgroundError>();
  rocksdb::DBOptions db_options = DatabaseOptions(options_, background_);
  env_ = StoreEnv(db_options.env, std::move(valid_lengths));
  db_options.env = env_.get();
  if (Status s = StartThreads(db_options.env); !s.ok()) return s;
  opening_env_ = OpeningEnv::Make(db_options.env);
  db_options.env = opening_env_->env();
  db_options.info_log = OpenInfoLog(dir_);
  // Only if there is nothing: otherwise a lost CURRENT would become a new store.
  db_options.create_if_missing = found == Found::kNothing;
  // Missing is what a creation had not come to, or what an earlier version lacks (CheckFamilies).
  db_options.create_missing_column_families = found != Found::kNothing;
  const rocksdb::ColumnFamilyOptions family_options = FamilyOptions(options_);
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (const char* name : kFamilyNames) descriptors.emplace_back(name, family_options);
  // In a new database one call makes all families: RocksDB's Open would make them one by one, and
  // write and sync its OPTIONS file for each.
  if (found == Found::kNothing) descriptors.resize(1);
  rocksdb::DB* db = nullptr;
  rocksdb::Status status;
  try {
    status = rocksdb::DB::Open(db_options, dir_, descriptors, &families_, &db);
  } catch (...) {
    AbandonOpening();
    throw;
  }
  if (!status.ok()) return FromRocksdbOpen(status, dir_);
  db_.reset(db);
  opening_env_->Begin();
  if (found == Found::kNothing) {
    std::vector<rocksdb::ColumnFamilyHandle*> made;
    const std::vector<std::string> names(std::begin(kFamilyNames) + 1, std::end(kFamilyNames));
    status = db_->CreateColumnFamilies(family_options, names, &made);
    families_.insert(families_.end(), made.begin(), made.end());
    if (!status.ok()) return FromRocksdb(status, "creating " + dir_);
  }
  return background_->Get();
}

// What RocksDB has lost refers to these.
void OwnerDatabase::AbandonOpening() {
  families_.clear();
  opening_env_->Abandon();
  static_cast<void>(opening_env_.release());
  static_cast<void>(env_.release());
}

Status OwnerDatabase::Get(Family family, std::string_view key, std::string* value) const {
  const rocksdb::Status status =
      db_->Get(rocksdb::ReadOptions(), Handle(family), ToSlice(key), value);
  if (status.IsNotFound()) return Status::NotFound("no such record");
  return FromRocksdb(status, dir_);
}

Status OwnerDatabase::Scan(Family family, std::string_view begin, std::string_view end,
                           const Visitor& visit) const {
  return ScanDatabase(db_.get(), Handle(family), rocksdb::ReadOptions(), dir_, begin, end, visit);
}

std::unique_ptr<Reader> OwnerDatabase::Snapshot() const {
  return std::make_unique<SnapshotReader>(db_.get(), families_, dir_);
}

Status OwnerDatabase::Write(MutationBatch& batch, bool sync) {
  Status writable = CheckWritable();
  if (!writable.ok()) return writable;
  rocksdb::WriteOptions options;
  options.sync = sync && !WQ_MUTANT(power_without_sync);
  rocksdb::Status status;
  unchecked_bytes_ += batch.bytes();
  if (unchecked_bytes_ >= options_.write_buffer_bytes / 16) {
    status = FlushFullFamilies();
    if (!status.ok()) return StopWrites(FromRocksdb(status, "flushing " + dir_));
  }
  if (WQ_MUTANT(half_a_batch)) WriteFirst(db_.get(), batch);
  {
    LentBatch lent(&batch);
    status = db_->Write(options, &lent);
  }
  return status.ok() ? Status::Ok() : StopWrites(FromRocksdb(status, "writing " + dir_));
}

// Begins to flush each family whose unflushed records fill a write buffer. RocksDB does the same by
// itself, but if two families are full and the new log cannot be made, it keeps a reference to one
// of them and ends the process when the database is closed (ScheduleFlushes, in RocksDB 7.8).
//
// As long as the flushes before have not come far enough, RocksDB stops writes, and begins no flush
// (TryAgain). That is no failure: the next write waits until it may go on, and the one after it
// checks again. So the buffers exceed their size by one write.
rocksdb::Status OwnerDatabase::FlushFullFamilies() {
  rocksdb::FlushOptions in_background;
  in_background.wait = false;
  in_background.allow_write_stall = true;  // The next write waits, as for a flush of RocksDB's own.
  rocksdb::Status status;
  for (rocksdb::ColumnFamilyHandle* family : families_) {
    uint64_t bytes = 0;
    const bool full =
        db_->GetIntProperty(family, rocksdb::DB::Properties::kCurSizeActiveMemTable, &bytes) &&
        bytes >= std::max(options_.write_buffer_bytes, kSmallestBuffer);
    if (full && status.ok()) status = db_->Flush(in_background, family);
  }
  if (status.IsTryAgain()) return rocksdb::Status::OK();
  unchecked_bytes_ = 0;
  return status;
}

Status OwnerDatabase::Sync() {
  Status writable = CheckWritable();
  if (!writable.ok()) return writable;
  if (WQ_MUTANT(power_without_sync)) return Status::Ok();
  const rocksdb::Status status = db_->SyncWAL();
  return status.ok() ? Status::Ok() : StopWrites(FromRocksdb(status, "syncing " + dir_));
}

// What is in tables was synced.
Status OwnerDatabase::ScanUnsynced(Family family, const Visitor& visit) const {
  if (db_ == nullptr) return Status::Ok();
  rocksdb::ReadOptions options;
  options.table_filter = [](const rocksdb::TableProperties&) { return false; };
  return ScanDatabase(db_.get(), Handle(family), options, dir_, {}, {}, visit);
}

// Opening reads the logs from the files again and writes their records to tables, synced: so it
// does not matter which dirty pages of the old files the kernel has dropped.
Status OwnerDatabase::Reopen() {
  DropHandles();
  Status status = Refused(dir_, CheckAndOpen());
  if (!status.ok()) DropHandles();
  const MutexLock lock(mu_);
  failure_ = status;
  failed_.store(!status.ok(), std::memory_order_release);
  return status;
}

Status OwnerDatabase::CheckAndOpen() {
  if (!ownership_lost_.ok()) return ownership_lost_;
  Status status = owner_->Check();
  if (status.code() == StatusCode::kLocked) ownership_lost_ = status;
  DirectoryInfo found;
  if (status.ok()) status = InspectDirectory(dir_, &found);
  if (!status.ok()) return status;
  if (found.state != DirectoryState::kStore) return NotAStore(dir_, found);
  if (found.format.uuid != uuid_) {
    return Status::NotFound(dir_ + " is another store now: " + found.format.uuid + ", not " +
                            uuid_);
  }
  ValidLengths valid_lengths;
  status = CheckStore(dir_, found.format, &valid_lengths);
  if (!status.ok()) return status;
  return WithResources(dir_, [&] { return OpenDatabase(Found::kStore, std::move(valid_lengths)); });
}

Status OwnerDatabase::Close() {
  Status status = CheckWritable();
  // A failed database is left as it is: the disk has a prefix of the writes, and another flush
  // could add records behind a gap.
  if (status.ok()) status = EndLog();
  if (status.ok()) status = CloseDatabase();
  DropHandles();
  if (status.ok() && log_ != nullptr && log_->Used() == 0) {
    log_.reset();
    RemoveOldLogs();
  }
  if (status.ok() && owner_ != nullptr) owner_->MarkClosed();
  owner_.reset();
  return status;
}

Status OwnerDatabase::Renew(const StoreRecord& record) {
  MutationBatch batch;
  Status status = EndReplica(*this, &batch);  // Another store is no replica of the first one.
  PutStore(record, &batch);
  if (status.ok()) status = Write(batch, /*sync=*/true);
  if (!status.ok()) return status;
  // FindStoreRecord (check/closed_database.h) relies on the tables having one version of this
  // record.
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
    WQ_CHECK(dropped.ok(), "a family handle cannot be closed");
  }
  families_.clear();
  status = db_->Close();
  if (!status.ok()) return FromRocksdb(status, where);
  return background_->Get();
}

// After a failed write or sync it is unknown what is on disk: all of that batch, a part of it, or
// nothing. And the kernel reports a failed fsync once and then drops the dirty pages, so a later
// fsync that succeeds proves nothing. A later write to the same file could put acknowledged records
// behind a gap at which recovery stops. So nothing is written after the first failure.
Status OwnerDatabase::StopWrites(Status status) {
  const MutexLock lock(mu_);
  if (failure_.ok()) failure_ = std::move(status);
  failed_.store(true, std::memory_order_release);
  return failure_;
}

Status OwnerDatabase::CheckWritable() {
  if (failed_.load(std::memory_order_acquire)) {
    const MutexLock lock(mu_);
    return failure_;
  }
  if (db_ == nullptr) return Status::ShuttingDown(dir_ + " is closed");
  Status status = background_->Get();
  if (status.ok()) status = owner_->CheckBeforeWrite();
  if (status.ok()) return status;
  return StopWrites(std::move(status));
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
