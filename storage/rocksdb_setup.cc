#include "storage/rocksdb_setup.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/listener.h>
#include <rocksdb/table.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "storage/append_memtable.h"
#include "storage/disk.h"
#include "storage/log_ends.h"
#include "storage/mutant.h"
#include "storage/records.h"

namespace wq::storage {
namespace {

// RocksDB would mend itself and go on after an error in the background, on handles whose state
// nobody knows. Here it stops at the first one.
class StopAtFirstError final : public rocksdb::EventListener {
 public:
  explicit StopAtFirstError(std::shared_ptr<BackgroundError> error) : error_(std::move(error)) {}

  void OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status* status) override {
    if (!status->ok()) error_->Report(FromRocksdb(*status, "in the background"));
  }
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status,
                            bool* auto_recovery) override {
    *auto_recovery = false;
  }

 private:
  const std::shared_ptr<BackgroundError> error_;
};

// RocksDB makes Corruption of a file's length that it cannot get, and InvalidArgument of a CURRENT that it
// cannot open, as if that came from its options.
bool TellsOfFailedCall(const rocksdb::Status& status) {
  const std::string text = status.ToString();
  const auto has = [&text](std::string_view words) { return text.find(words) != text.npos; };
  return (status.IsCorruption() && has("IO error") && !has("No such file")) ||
         (status.IsInvalidArgument() && (has("Direct I/O") || has("incompatible with filesystem")));
}

// A manifest is a log, too.
LogEnds EndsOf(const Manifest& manifest) {
  if (!manifest.zeroed) return {};
  return {{manifest.path.substr(manifest.path.rfind('/') + 1), manifest.bytes}};
}

class DropEverything final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

}  // namespace

void BackgroundError::Report(Status error) {
  const std::lock_guard lock(mu_);
  if (!error_.ok()) return;
  error_ = std::move(error);
  failed_.store(true, std::memory_order_release);
}

Status BackgroundError::Get() const {
  if (!failed_.load(std::memory_order_acquire)) return Status::Ok();
  const std::lock_guard lock(mu_);
  return error_;
}

rocksdb::DBOptions DatabaseOptions(const RocksdbOptions& options,
                                   std::shared_ptr<BackgroundError> error) {
  rocksdb::DBOptions db;
  if (DiskEnv() != nullptr) db.env = DiskEnv();
  // The default, point-in-time, opens without a word at the first damaged record and forgets all
  // that follows. This one refuses; what it misses, CheckWals (wal_check.h) finds before.
  db.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  db.paranoid_checks = true;
  db.max_bgerror_resume_count = 0;
  db.listeners = {std::make_shared<StopAtFirstError>(std::move(error))};
  // One writer, and a vector memtable cannot be written by more.
  db.allow_concurrent_memtable_write = false;
  db.enable_pipelined_write = false;
  db.max_total_wal_size = WQ_MUTANT(unbounded_log) ? UINT64_MAX : options.max_wal_bytes;
  db.recycle_log_file_num = 0;
  db.max_background_jobs = 2;
  // Otherwise opening starts 16 threads for each family, to open a few small tables.
  db.max_file_opening_threads = 1;
  // A busy store adds to the manifest at every flush, and only a new file forgets.
  db.max_manifest_file_size = size_t{4} << 20;
  db.stats_dump_period_sec = 0;
  db.stats_persist_period_sec = 0;
  return db;
}

rocksdb::ColumnFamilyOptions FamilyOptions(const RocksdbOptions& options) {
  rocksdb::ColumnFamilyOptions family;
  family.write_buffer_size = options.write_buffer_bytes;
  if (options.vector_memtable) family.memtable_factory = AppendMemtable();
  family.compression = rocksdb::kLZ4Compression;
  family.compression_per_level.assign(static_cast<size_t>(family.num_levels),
                                      rocksdb::kLZ4Compression);
  // Most of level 0 is deleted again before it is ever compacted.
  family.compression_per_level[0] = rocksdb::kNoCompression;
  rocksdb::BlockBasedTableOptions table;
  table.format_version = kTableVersion;
  table.checksum = rocksdb::kXXH3;
  static_assert(rocksdb::kXXH3 == kTableChecksum);
  table.block_cache = rocksdb::NewLRUCache(size_t{8} << 20);
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return family;
}

std::shared_ptr<rocksdb::Logger> SilentLogger() { return std::make_shared<DropEverything>(); }

rocksdb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

Status FromRocksdb(const rocksdb::Status& status, const std::string& where) {
  if (status.ok()) return Status::Ok();
  const std::string message = where + ": " + status.ToString();
  if (status.IsCorruption()) return Status::Corruption(message);
  if (status.IsNotFound()) return Status::NotFound(message);
  if (status.IsNotSupported()) return Status::NotSupported(message);
  return Status::IOError(message);
}

Status FromRocksdbOpen(const rocksdb::Status& status, const std::string& dir) {
  if (TellsOfFailedCall(status)) {
    return Status::IOError(dir + ": a call on one of its files failed: " + status.ToString());
  }
  if (status.IsPathNotFound() || status.IsInvalidArgument() || status.IsNotFound()) {
    return Status::Corruption(dir + ": " + status.ToString());
  }
  return FromRocksdb(status, dir);
}

Status CheckFamilies(const std::string& dir, const Manifest& manifest) {
  const auto has = [&manifest](std::string_view name) {
    return std::any_of(manifest.families.begin(), manifest.families.end(),
                       [name](const auto& family) { return family.second.name == name; });
  };
  for (const char* known : kFamilyNames) {
    if (!has(known)) {
      return Status::Corruption(manifest.path + ": the family " + known + " is missing");
    }
  }
  for (const auto& [id, family] : manifest.families) {
    if (std::find(std::begin(kFamilyNames), std::end(kFamilyNames), family.name) ==
        std::end(kFamilyNames)) {
      return Status::NotSupported(dir + " has a family that this wq does not know: " + family.name);
    }
  }
  return Status::Ok();
}

Status CheckDatabase(const std::string& dir, Manifest* manifest, LogEnds* ends) {
  Status status = ReadManifest(dir, manifest);
  if (status.ok()) status = CheckFamilies(dir, *manifest);
  if (status.ok()) status = CheckTableEnds(dir, *manifest);
  *ends = EndsOf(*manifest);
  if (status.ok() && !WQ_MUTANT(skip_log_look)) status = CheckWals(dir, *manifest, ends);
  return status;
}

Status CheckOpens(const std::string& dir, const Manifest& manifest) {
  const char* const temporary = std::getenv("TMPDIR");
  std::string no_logs = std::string(temporary == nullptr ? "/tmp" : temporary) + "/wq-XXXXXX";
  if (mkdtemp(no_logs.data()) == nullptr) return Status::Ok();  // Then the opening itself shows it.
  const RocksdbOptions defaults;
  rocksdb::DBOptions db_options = DatabaseOptions(defaults, std::make_shared<BackgroundError>());
  db_options.env = rocksdb::Env::Default();  // As all that is looked at before.
  const std::unique_ptr<rocksdb::Env> shortened = EnvWithLogEnds(db_options.env, EndsOf(manifest));
  if (shortened != nullptr) db_options.env = shortened.get();
  db_options.info_log = SilentLogger();
  db_options.max_open_files = -1;  // So that all tables are opened.
  db_options.wal_dir = no_logs;
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (const char* name : kFamilyNames) descriptors.emplace_back(name, FamilyOptions(defaults));
  std::vector<rocksdb::ColumnFamilyHandle*> families;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status opened =
      rocksdb::DB::OpenForReadOnly(db_options, dir, descriptors, &families, &db);
  if (opened.ok()) {
    for (rocksdb::ColumnFamilyHandle* family : families) {
      db->DestroyColumnFamilyHandle(family).PermitUncheckedError();
    }
    delete db;
  }
  rmdir(no_logs.c_str());
  return FromRocksdbOpen(opened, dir);
}

Status CheckUnfinished(const std::string& dir, const DirectoryLook& look) {
  if (!look.has_database) return Status::Ok();
  std::unique_ptr<Reader> reader;
  // A database that does not open yet was never finished: queues come after FORMAT.
  Manifest manifest;
  if (!ReadManifest(dir, &manifest).ok() || !CheckFamilies(dir, manifest).ok()) {
    return Status::Ok();
  }
  Status status = OpenDatabaseReader(dir, &reader);
  if (!status.ok()) return status;
  bool has_queues = false;
  status = ScanQueues(*reader, [&has_queues](const QueueRecord&) {
    has_queues = true;
    return false;
  });
  if (status.ok() && has_queues) return Status::Corruption(dir + "/FORMAT is missing");
  return status;
}

Status CheckStoreRecord(const std::string& dir, const Status& found, const StoreRecord& record,
                        const Format& format) {
  if (found.code() == StatusCode::kNotFound) {
    return Status::Corruption(dir + ": the store's own record is missing");
  }
  if (!found.ok()) return found;
  if (record.uuid != format.uuid || record.format_version != format.version) {
    return Status::Corruption(dir + "/FORMAT says version " + std::to_string(format.version) +
                              " of " + format.uuid + ", the database is version " +
                              std::to_string(record.format_version) + " of " + record.uuid);
  }
  return Status::Ok();
}

}  // namespace wq::storage
