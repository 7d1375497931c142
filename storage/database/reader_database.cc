#include "storage/database/reader_database.h"

#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include <array>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "storage/check/open_check.h"
#include "storage/check/table_check.h"
#include "storage/directory/steady_view.h"
#include "storage/mutation_batch.h"
#include "storage/process_log/read_process_log.h"
#include "storage/rocksdb/opening_env.h"
#include "storage/rocksdb/setup.h"
#include "storage/rocksdb/store_env.h"
#include "storage/storage.h"

namespace wq::storage {
namespace {

// A database with mutations laid over it that are not written to it yet: those of the process log.
// Immutable, so thread-safe.
class OverlaidReader final : public Reader {
 public:
  // Copies the mutations.
  OverlaidReader(std::unique_ptr<Reader> database, const MutationBatch& unwritten);

  Status Get(Family family, std::string_view key, std::string* value) const override;
  Status Scan(Family family, std::string_view begin, std::string_view end,
              const Visitor& visit) const override;
  uint64_t FamilyBytes(Family family) const override { return database_->FamilyBytes(family); }

 private:
  // By key; unset: erased.
  using Rows = std::map<std::string, std::optional<std::string>, std::less<>>;

  const Rows& RowsOf(Family family) const { return rows_[static_cast<size_t>(family)]; }

  const std::unique_ptr<Reader> database_;
  std::array<Rows, kFamilyCount> rows_;
};

OverlaidReader::OverlaidReader(std::unique_ptr<Reader> database, const MutationBatch& unwritten)
    : database_(std::move(database)) {
  unwritten.ForEach([this](const Mutation& mutation) {
    std::optional<std::string>& row =
        rows_[static_cast<size_t>(mutation.family)][std::string(mutation.key)];
    row = mutation.is_put ? std::optional(std::string(mutation.value)) : std::nullopt;
  });
}

Status OverlaidReader::Get(Family family, std::string_view key, std::string* value) const {
  const Rows& rows = RowsOf(family);
  const auto row = rows.find(key);
  if (row == rows.end()) return database_->Get(family, key, value);
  if (!row->second.has_value()) return Status::NotFound("no such record");
  *value = *row->second;
  return Status::Ok();
}

Status OverlaidReader::Scan(Family family, std::string_view begin, std::string_view end,
                            const Visitor& visit) const {
  const Rows& rows = RowsOf(family);
  auto row = rows.lower_bound(begin);
  const auto last = end.empty() ? rows.end() : rows.lower_bound(end);
  bool go_on = true;
  // Visits the overlaid rows before `key`, or all of them.
  const auto visit_before = [&](const std::string_view* key) {
    for (; go_on && row != last && (key == nullptr || row->first < *key); ++row) {
      if (row->second.has_value()) go_on = visit(row->first, *row->second);
    }
  };
  Status status =
      database_->Scan(family, begin, end, [&](std::string_view key, std::string_view value) {
        visit_before(&key);
        if (go_on && (row == last || row->first != key)) go_on = visit(key, value);
        return go_on;
      });
  if (status.ok()) visit_before(nullptr);
  return status;
}

class ReaderDatabase final : public Reader {
 public:
  explicit ReaderDatabase(std::string dir) : dir_(std::move(dir)) {}
  ~ReaderDatabase() override { DropDatabase(); }

  // `unwritten` gets what the process log has and the database lacks.
  Status Open(const std::string& uuid, MutationBatch* unwritten);
  Status Get(Family family, std::string_view key, std::string* value) const override;
  Status Scan(Family family, std::string_view begin, std::string_view end,
              const Visitor& visit) const override;
  uint64_t FamilyBytes(Family family) const override;

 private:
  // Making an iterator sorts the whole memtable, so they are kept for the next call.
  using Iterators = std::vector<std::unique_ptr<rocksdb::Iterator>>;
  class Borrowed;

  // The last families are missing in a store of an earlier version.
  bool Lacks(Family family) const { return static_cast<size_t>(family) >= families_.size(); }
  Status OpenOnce(Manifest* manifest);
  Status OpenWithLog(const std::string& uuid, MutationBatch* unwritten, bool* again);
  void DropDatabase();

  const std::string dir_;
  std::unique_ptr<rocksdb::Env> env_;  // Before db_.
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;  // By Family. Destroyed before db_.
  mutable Mutex mu_;
  mutable std::array<Iterators, kFamilyCount> idle_ WQ_GUARDED_BY(mu_);
  // There was no memory for an iterator: RocksDB has lost a reference, and would end the process
  // when the database is closed. So it is not closed.
  mutable bool leaked_ WQ_GUARDED_BY(mu_) = false;
};

// An iterator for the length of one call.
class ReaderDatabase::Borrowed {
 public:
  Borrowed(const ReaderDatabase& reader, Family family)
      : reader_(reader), family_(static_cast<size_t>(family)) {
    const MutexLock lock(reader_.mu_);
    Iterators& idle = reader_.idle_[family_];
    if (idle.empty()) {
      const bool leaked = std::exchange(reader_.leaked_, true);
      it_.reset(reader_.db_->NewIterator(rocksdb::ReadOptions(), reader_.families_[family_]));
      reader_.leaked_ = leaked;
    } else {
      it_ = std::move(idle.back());
      idle.pop_back();
    }
  }
  ~Borrowed() {
    const MutexLock lock(reader_.mu_);
    try {
      reader_.idle_[family_].push_back(std::move(it_));
    } catch (const std::bad_alloc&) {  // The next call makes another.
    }
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  rocksdb::Iterator* operator->() const { return it_.get(); }

 private:
  const ReaderDatabase& reader_;
  const size_t family_;
  std::unique_ptr<rocksdb::Iterator> it_;
};

// While this opens the database, a running owner may flush and then remove logs and tables that the
// manifest, as it was read here, names. A missing table is an error, but RocksDB does not notice a
// missing log. So success counts if no log was removed during the attempt, and an error if the
// manifest did not change either.
Status ReaderDatabase::Open(const std::string& uuid, MutationBatch* unwritten) {
  bool again = false;
  return ReadSteadily(
      dir_,
      [&] {
        again = false;
        unwritten->Clear();
        Manifest manifest;
        return uuid.empty() ? OpenOnce(&manifest) : OpenWithLog(uuid, unwritten, &again);
      },
      [&again](const Status& opened, const FilesState& before, const FilesState& after) {
        return !again && after.HasAllLogsOf(before) && (opened.ok() || after.SameManifest(before));
      });
}

// The logs are read first: see read_process_log.h. *again: a new owner has begun another log.
Status ReaderDatabase::OpenWithLog(const std::string& uuid, MutationBatch* unwritten, bool* again) {
  FoundProcessLogs logs;
  Manifest manifest;
  Status status = logs.Read(dir_);
  if (status.ok()) status = OpenOnce(&manifest);
  ProcessLogRecord record;
  if (status.ok()) status = GetProcessLog(*this, &record);
  if (!status.ok()) return status;
  // Of the database itself: FORMAT may be damaged (CheckStoreRecord).
  StoreRecord store;
  status = AppendUnwritten(dir_, manifest, logs, record,
                           GetStore(*this, &store).ok() ? store.uuid : uuid, unwritten);
  *again = status.code() == StatusCode::kNotFound;
  return status;
}

// Read-only, not as a secondary: if a table is missing or damaged, a secondary of RocksDB 7.8 opens
// the last older state for which it has all tables, without an error.
Status ReaderDatabase::OpenOnce(Manifest* manifest) {
  DropDatabase();
  ValidLengths valid_lengths;
  Status status = CheckDatabase(dir_, manifest, &valid_lengths);
  if (!status.ok()) return status;
  const OpenOptions defaults;
  rocksdb::DBOptions db_options = DatabaseOptions(defaults, std::make_shared<BackgroundError>());
  env_ = StoreEnv(db_options.env, std::move(valid_lengths));
  db_options.env = env_.get();
  db_options.info_log = SilentLogger();
  // The owner may remove a table file at any time: the ones of this view stay open.
  db_options.max_open_files = -1;
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (const char* name : kFamilyNames) {
    if (HasFamily(*manifest, name)) descriptors.emplace_back(name, FamilyOptions(defaults));
  }
  if (Status s = StartThreads(db_options.env); !s.ok()) return s;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status opened =
      rocksdb::DB::OpenForReadOnly(db_options, dir_, descriptors, &families_, &db);
  if (opened.ok()) {
    db_.reset(db);
    return status;
  }
  // RocksDB's error may name the manifest although a table is damaged.
  status = CheckTables(dir_, *manifest);
  return status.ok() ? FromRocksdbOpen(opened, dir_, manifest->Name()) : status;
}

void ReaderDatabase::DropDatabase() {
  if (db_ == nullptr) return;
  {
    const MutexLock lock(mu_);
    for (Iterators& idle : idle_) idle.clear();
    if (std::exchange(leaked_, false)) {
      families_.clear();
      static_cast<void>(db_.release());
      static_cast<void>(env_.release());
      return;
    }
  }
  for (rocksdb::ColumnFamilyHandle* family : families_) {
    db_->DestroyColumnFamilyHandle(family).PermitUncheckedError();
  }
  families_.clear();
  db_.reset();
}

Status ReaderDatabase::Get(Family family, std::string_view key, std::string* value) const {
  if (Lacks(family)) return Status::NotFound("no such record");
  const Borrowed it(*this, family);
  it->Seek(ToSlice(key));
  if (it->Valid() && it->key() == ToSlice(key)) {
    *value = it->value().ToStringView();
    return Status::Ok();
  }
  if (!it->status().ok()) return FromRocksdb(it->status(), dir_);
  return Status::NotFound("no such record");
}

Status ReaderDatabase::Scan(Family family, std::string_view begin, std::string_view end,
                            const Visitor& visit) const {
  if (Lacks(family)) return Status::Ok();
  const Borrowed it(*this, family);
  for (it->Seek(ToSlice(begin)); it->Valid(); it->Next()) {
    const std::string_view key = it->key().ToStringView();
    if (!end.empty() && key >= end) return Status::Ok();
    if (!visit(key, it->value().ToStringView())) return Status::Ok();
  }
  return FromRocksdb(it->status(), dir_);
}

uint64_t ReaderDatabase::FamilyBytes(Family family) const {
  uint64_t sum = 0;
  if (Lacks(family)) return sum;
  for (const std::string& property :
       {rocksdb::DB::Properties::kTotalSstFilesSize, rocksdb::DB::Properties::kSizeAllMemTables}) {
    uint64_t bytes = 0;
    if (db_->GetIntProperty(families_[static_cast<size_t>(family)], property, &bytes)) sum += bytes;
  }
  return sum;
}

}  // namespace

Status OpenDatabaseReader(const std::string& dir, const std::string& uuid,
                          std::unique_ptr<Reader>* reader) {
  auto opened = std::make_unique<ReaderDatabase>(dir);
  MutationBatch unwritten;
  Status status = opened->Open(uuid, &unwritten);
  if (!status.ok()) return status;
  *reader = std::move(opened);
  if (!unwritten.empty()) {
    *reader = std::make_unique<OverlaidReader>(std::move(*reader), unwritten);
  }
  return status;
}

}  // namespace wq::storage
