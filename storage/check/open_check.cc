#include "storage/check/open_check.h"

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/mutant.h"
#include "storage/check/closed_database.h"
#include "storage/check/table_check.h"
#include "storage/check/wal_check.h"
#include "storage/rocksdb/opening_env.h"
#include "storage/rocksdb/setup.h"

namespace wq::storage {
namespace {

// Of the manifest, which has the format of a log.
ValidLengths ValidLengthsOf(const Manifest& manifest) {
  if (!manifest.zeroed) return {};
  return {{manifest.Name(), manifest.bytes}};
}

// The store's own record was written first. Without tables it was in the first log, of which then
// nothing is left: a log that was cut off elsewhere still has it.
Status MissingStoreRecord(const std::string& dir) {
  Manifest manifest;
  std::vector<WalFile> wals;
  Status status = ReadManifest(dir, &manifest);
  if (status.ok()) status = ListWals(dir, manifest.FirstLog(), &wals);
  if (!status.ok()) return status;
  const bool has_tables =
      std::any_of(manifest.families.begin(), manifest.families.end(),
                  [](const auto& family) { return !family.second.tables.empty(); });
  if (has_tables || wals.empty()) {
    return Status::Corruption(manifest.path + " names no table that has the store's own record");
  }
  return Status::Corruption(dir + "/" + wals.front().name +
                            " is cut off: the store's own record is missing");
}

// RocksDB reads IDENTITY, if it is there, and would wait for ever at a pipe.
Status CheckIdentity(const std::string& dir) {
  const std::string path = dir + "/IDENTITY";
  struct stat info = {};
  if (lstat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode)) return Status::Ok();
  return Status::Corruption(path + " is not a file");
}

// A family that stores of earlier versions lack.
bool IsLater(std::string_view family) {
  return family == kFamilyNames[static_cast<int>(Family::kSources)];
}

bool IsOfEarlierVersion(const std::string& dir) {
  DirectoryInfo found;
  return InspectDirectory(dir, &found).ok() && found.state == DirectoryState::kStore &&
         found.format.version < kFormatVersion;
}

}  // namespace

bool HasFamily(const Manifest& manifest, std::string_view name) {
  return std::any_of(manifest.families.begin(), manifest.families.end(),
                     [name](const auto& family) { return family.second.name == name; });
}

Status CheckFamilies(const std::string& dir, const Manifest& manifest) {
  for (const char* known : kFamilyNames) {
    if (!HasFamily(manifest, known) && !(IsLater(known) && IsOfEarlierVersion(dir))) {
      return Status::Corruption(manifest.path + ": the family " + known + " is missing");
    }
  }
  for (const auto& [id, family] : manifest.families) {
    if (std::find(std::begin(kFamilyNames), std::end(kFamilyNames), family.name) ==
        std::end(kFamilyNames)) {
      return Status::NotSupported(dir + "/" + manifest.Name() + " has the family " + family.name +
                                  ", which this wq does not know: use the wq that wrote it");
    }
    // Batches name a family by its number.
    if (id >= uint32_t{kFamilyCount} || family.name != kFamilyNames[id]) {
      return Status::Corruption(manifest.path + ": the family " + family.name + " has the number " +
                                std::to_string(id));
    }
  }
  return Status::Ok();
}

Status CheckDatabase(const std::string& dir, Manifest* manifest, ValidLengths* valid_lengths) {
  Status status = ReadManifest(dir, manifest);
  if (status.ok()) status = CheckIdentity(dir);
  if (status.ok()) status = CheckFamilies(dir, *manifest);
  if (status.ok()) status = CheckTableEnds(dir, *manifest);
  *valid_lengths = ValidLengthsOf(*manifest);
  if (status.ok() && !WQ_MUTANT(skip_log_check)) status = CheckWals(dir, *manifest, valid_lengths);
  return status;
}

Status CheckOpens(const std::string& dir, const Manifest& manifest) {
  if (Status s = CheckIdentity(dir); !s.ok()) return s;
  const OpenOptions defaults;
  rocksdb::DBOptions db_options = DatabaseOptions(defaults, std::make_shared<BackgroundError>());
  const std::unique_ptr<rocksdb::Env> env =
      StoreEnv(rocksdb::Env::Default(), ValidLengthsOf(manifest), /*hides_logs=*/true);
  db_options.env = env.get();
  db_options.info_log = SilentLogger();
  db_options.max_open_files = -1;  // So that all tables are opened.
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (const char* name : kFamilyNames) {
    if (HasFamily(manifest, name)) descriptors.emplace_back(name, FamilyOptions(defaults));
  }
  std::vector<rocksdb::ColumnFamilyHandle*> families;
  if (Status s = StartThreads(db_options.env); !s.ok()) return s;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status opened =
      rocksdb::DB::OpenForReadOnly(db_options, dir, descriptors, &families, &db);
  if (opened.ok()) {
    for (rocksdb::ColumnFamilyHandle* family : families) {
      db->DestroyColumnFamilyHandle(family).PermitUncheckedError();
    }
    delete db;
  }
  return FromRocksdbOpen(opened, dir, manifest.Name());
}

Status AppendUnwritten(const std::string& dir, const Manifest& manifest,
                       const FoundProcessLogs& logs, const ProcessLogRecord& record,
                       const std::string& uuid, MutationBatch* unwritten) {
  Status status = logs.AppendUnwritten(record, uuid, unwritten);
  if (status.code() != StatusCode::kCorruption) return status;
  const std::string later = logs.LaterLog(record, uuid);
  if (later.empty()) return status;
  return Status::Corruption(DescribeLostEnd(dir, manifest) + ", since " + later +
                            " continues a later state of the database");
}

Status CheckStoreRecord(const std::string& dir, const Status& read, const StoreRecord& record,
                        const Format& format) {
  if (read.code() == StatusCode::kNotFound) return MissingStoreRecord(dir);
  if (!read.ok()) return read;
  // The record keeps the version with which the store was made.
  if (record.uuid != format.uuid || record.format_version > format.version) {
    return Status::Corruption(dir + "/FORMAT says version " + std::to_string(format.version) +
                              " of " + format.uuid + ", the database is version " +
                              std::to_string(record.format_version) + " of " + record.uuid);
  }
  return Status::Ok();
}

Status CheckStore(const std::string& dir, const Format& format, ValidLengths* valid_lengths) {
  Manifest manifest;
  Status status = CheckDatabase(dir, &manifest, valid_lengths);
  if (status.ok()) status = CheckTables(dir, manifest);
  if (status.ok()) status = CheckOpens(dir, manifest);
  if (!status.ok()) return status;
  StoreRecord record;
  const Status read = FindStoreRecord(dir, manifest, &record);
  status = CheckStoreRecord(dir, read, record, format);
  ProcessLogRecord log;
  FoundProcessLogs logs;
  MutationBatch unwritten;
  if (status.ok()) status = FindProcessLog(dir, manifest, &log);
  if (status.ok()) status = logs.Read(dir);
  if (!status.ok()) return status;
  return AppendUnwritten(dir, manifest, logs, log, format.uuid, &unwritten);
}

}  // namespace wq::storage
