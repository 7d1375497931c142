#include "storage/rocksdb/setup.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/listener.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/mutant.h"
#include "base/process_mark.h"
#include "storage/rocksdb/append_memtable.h"

namespace wq::storage {
namespace {

rocksdb::Env* env_in_use = nullptr;  // Null: the default.

// After a background error RocksDB would recover by itself and continue, on file handles of unknown
// state. This makes it stop at the first error.
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

// Whether a system call failed: RocksDB returns Corruption if it cannot get a file's length, and
// InvalidArgument, as for wrong options, if it cannot open CURRENT.
bool IsFailedCall(const rocksdb::Status& status) {
  const std::string text = status.ToString();
  const auto has = [&text](std::string_view words) { return text.find(words) != text.npos; };
  return (status.IsCorruption() && has("IO error") && !has("No such file")) ||
         (status.IsInvalidArgument() && (has("Direct I/O") || has("incompatible with filesystem")));
}

class DropEverything final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

}  // namespace

void UseEnv(rocksdb::Env* env) { env_in_use = env; }

void BackgroundError::Report(Status error) {
  const MutexLock lock(mu_);
  if (!error_.ok()) return;
  error_ = std::move(error);
  failed_.store(true, std::memory_order_release);
}

Status BackgroundError::Get() const {
  if (!failed_.load(std::memory_order_acquire)) return Status::Ok();
  const MutexLock lock(mu_);
  return error_;
}

rocksdb::DBOptions DatabaseOptions(const OpenOptions& options,
                                   std::shared_ptr<BackgroundError> error) {
  SkipDestructorsInChildren();
  rocksdb::DBOptions db;
  db.env = env_in_use == nullptr ? rocksdb::Env::Default() : env_in_use;
  // The default, point-in-time, opens at the first damaged record and drops all later ones without
  // an error. This mode refuses. The damage that it misses, CheckWals (wal_check.h) finds before.
  db.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  db.paranoid_checks = true;
  db.max_bgerror_resume_count = 0;
  db.listeners = {std::make_shared<StopAtFirstError>(std::move(error))};
  // There is one writer, and a vector memtable supports only one.
  db.allow_concurrent_memtable_write = false;
  db.enable_pipelined_write = false;
  // RocksDB takes 0 for four times all write buffers, which have no size here: see FamilyOptions.
  db.max_total_wal_size =
      WQ_MUTANT(unbounded_log) ? UINT64_MAX : std::max<size_t>(options.max_wal_bytes, 1);
  db.recycle_log_file_num = 0;
  db.max_background_jobs = 2;
  // Otherwise opening starts 16 threads for each family, to open a few small tables.
  db.max_file_opening_threads = 1;
  // A busy store appends to the manifest at every flush, and only a new file makes it short again.
  db.max_manifest_file_size = size_t{4} << 20;
  // RocksDB's 4 MiB would keep a store from being opened on a disk that has less.
  db.manifest_preallocation_size = size_t{64} << 10;
  db.stats_dump_period_sec = 0;
  db.stats_persist_period_sec = 0;
  return db;
}

rocksdb::ColumnFamilyOptions FamilyOptions(const OpenOptions& options) {
  rocksdb::ColumnFamilyOptions family;
  // Out of reach: OwnerDatabase flushes full families (FlushFullFamilies).
  family.write_buffer_size = size_t{1} << 40;
  family.arena_block_size =
      std::clamp(options.write_buffer_bytes / 8, size_t{4} << 10, size_t{1} << 20);
  family.memtable_factory = AppendMemtable();
  family.compression = rocksdb::kLZ4Compression;
  family.compression_per_level.assign(static_cast<size_t>(family.num_levels),
                                      rocksdb::kLZ4Compression);
  // Most records of level 0 are erased before they are compacted.
  family.compression_per_level[0] = rocksdb::kNoCompression;
  rocksdb::BlockBasedTableOptions table;
  table.format_version = kTableVersion;
  table.checksum = rocksdb::kXXH3;
  static_assert(rocksdb::kXXH3 == kTableChecksum);
  // A block has a key of its own in the index. In RocksDB's blocks of 4 KiB each key of that length
  // fills a block, so that a table has it twice, and a flush takes twice the memory.
  table.block_size = size_t{16} << 10;
  table.block_cache = rocksdb::NewLRUCache(size_t{8} << 20);
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return family;
}

std::shared_ptr<rocksdb::Logger> SilentLogger() { return std::make_shared<DropEverything>(); }

rocksdb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

std::string TextOf(const rocksdb::Status& status, const std::string& where) {
  // "Corruption: block checksum mismatch: stored = 1, computed = 2  in /s/000012.sst offset 0"
  // "IO error: No space left on device: While appending to file: /s/000012.log: No space left …"
  std::string text = status.ToString();
  for (const std::string& part : {" in " + where, " from " + where, where + "/"}) {
    for (size_t at = text.find(part); at != text.npos && !where.empty(); at = text.find(part)) {
      text.erase(at, part.size());
    }
  }
  constexpr std::string_view kBetween = ": ";
  std::set<std::string_view> said = {"Corruption", "", where};
  std::string once;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = std::min(rest.find(kBetween), rest.size());
    const std::string_view part = rest.substr(0, end);
    if (said.insert(part).second) once.append(once.empty() ? "" : kBetween).append(part);
    rest.remove_prefix(std::min(end + kBetween.size(), rest.size()));
  }
  return once.empty() ? status.ToString() : once;
}

Status FromRocksdb(const rocksdb::Status& status, const std::string& where) {
  if (status.ok()) return Status::Ok();
  const std::string message = where + ": " + TextOf(status, where);
  if (status.IsCorruption()) return Status::Corruption(message);
  if (status.IsNotFound()) return Status::NotFound(message);
  if (status.IsNotSupported()) return Status::NotSupported(message);
  return Status::IOError(message);
}

Status FromRocksdbOpen(const rocksdb::Status& status, const std::string& where,
                       const std::string& file) {
  if (status.ok()) return Status::Ok();
  const std::string text = where + (file.empty() ? "" : "/") + file + ": " + TextOf(status, where);
  if (IsFailedCall(status)) return Status::IOError(text);
  if (status.IsPathNotFound() || status.IsInvalidArgument() || status.IsNotFound()) {
    return Status::Corruption(text);
  }
  return Status(FromRocksdb(status, where).code(), text);
}

}  // namespace wq::storage
