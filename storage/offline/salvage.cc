#include "storage/salvage.h"

#include <fcntl.h>
#include <rocksdb/db.h>
#include <rocksdb/sst_file_reader.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>

#include "base/file_calls.h"
#include "base/files.h"
#include "storage/check/closed_database.h"
#include "storage/check/manifest.h"
#include "storage/check/open_check.h"
#include "storage/check/table_check.h"
#include "storage/check/wal_check.h"
#include "storage/rocksdb/setup.h"

namespace wq::storage {
namespace {

std::optional<Family> FamilyOf(std::string_view name) {
  for (int family = 0; family < kFamilyCount; ++family) {
    if (name == kFamilyNames[family]) return static_cast<Family>(family);
  }
  return std::nullopt;
}

// Not std::filesystem::copy_file: it reports "Input/output error" for a full disk.
Status CopyFile(const std::string& from, const std::string& to) {
  const FileDescriptor source(open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat info = {};
  if (!source.valid() || fstat(source.get(), &info) != 0) {
    return IOErrorOf("cannot open", from, errno);
  }
  const FileDescriptor target(
      CurrentFileCalls().Open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW));
  if (!target.valid()) return IOErrorOf("cannot create", to, errno);
  return CopyBytes(source.get(), from, static_cast<uint64_t>(info.st_size), target.get(), to);
}

// One salvage: first the tables, then the newer records of the logs.
class Salvaging {
 public:
  Salvaging(const std::string& dir, const std::string& scratch, SalvagedRecords* records)
      : dir_(dir), scratch_(scratch), records_(records) {}

  Status Run();

 private:
  void Lose(const std::string& file, std::string what) {
    records_->losses.emplace_back(file, std::move(what));
  }
  Status FindTables(std::vector<std::string>* tables);
  Status TakeTable(const std::string& name);
  void TakeDamagedTable(const std::string& name, const std::string& why);
  Status TakeCopies();
  Status TakeLogs();
  Status TakeLog(const WalFile& wal, std::optional<uint64_t>* next_sequence);
  void Apply(const WalFile& wal, const Change& change);

  const std::string& dir_;
  const std::string& scratch_;
  SalvagedRecords* const records_;
  std::optional<Manifest> manifest_;  // Unset: it cannot be read.
  size_t copies_ = 0;
};

Status Salvaging::Run() {
  Manifest manifest;
  Status status = ReadManifest(dir_, &manifest);
  if (status.ok()) status = CheckFamilies(dir_, manifest);
  if (status.ok()) {
    manifest_ = std::move(manifest);
  } else if (status.code() == StatusCode::kCorruption) {
    Lose(dir_, status.message() + ": every table is taken that there is");
  } else {
    return status;
  }
  std::vector<std::string> tables;
  status = FindTables(&tables);
  if (status.ok() && mkdir(scratch_.c_str(), 0700) != 0) {
    status = IOErrorOf("cannot make", scratch_, errno);
  }
  for (const std::string& table : tables) {
    if (status.ok()) status = TakeTable(table);
  }
  if (status.ok() && copies_ > 0) status = TakeCopies();
  if (status.ok()) status = TakeLogs();
  return status;
}

Status Salvaging::FindTables(std::vector<std::string>* tables) {
  if (manifest_) {
    for (const auto& [id, family] : manifest_->families) {
      for (const auto& [number, bytes] : family.tables) tables->push_back(TableName(number));
    }
    return Status::Ok();
  }
  std::vector<std::string> names;
  Status status = ListDirectory(dir_, &names);
  for (std::string& name : names) {
    if (name.ends_with(".sst")) tables->push_back(std::move(name));
  }
  return status;
}

// Copies an undamaged table; takes the readable records of a damaged one.
Status Salvaging::TakeTable(const std::string& name) {
  const std::string path = dir_ + "/" + name;
  struct stat info = {};
  if (lstat(path.c_str(), &info) == 0 ? !S_ISREG(info.st_mode) : errno == ENOENT) {
    Lose(name, "the table is missing; how many records it held is not known");
    return Status::Ok();
  }
  const Status end = CheckTableEnd(path);
  if (!end.ok()) {
    Lose(name, "the whole table: " + end.message());
    return Status::Ok();
  }
  rocksdb::Options options;
  options.info_log = SilentLogger();
  rocksdb::SstFileReader table(options);
  rocksdb::Status status = table.Open(path);
  if (status.ok()) status = table.VerifyChecksum();
  if (!status.ok()) {
    TakeDamagedTable(name, status.ToString());
    return Status::Ok();
  }
  Status copied = CopyFile(path, scratch_ + "/" + name);
  copies_ += copied.ok() ? 1 : 0;
  return copied;
}

// Reads from both ends to the first damaged block.
void Salvaging::TakeDamagedTable(const std::string& name, const std::string& why) {
  rocksdb::Options options;
  options.info_log = SilentLogger();
  rocksdb::SstFileReader table(options);
  if (!table.Open(dir_ + "/" + name).ok()) {
    Lose(name, "the whole table: " + why);
    return;
  }
  const auto properties = table.GetTableProperties();
  const std::optional<Family> family = FamilyOf(properties->column_family_name);
  if (!family) {
    Lose(name, "the whole table, of an unknown family");
    return;
  }
  uint64_t taken = 0;
  const auto take = [&](const rocksdb::Iterator& it) {
    taken +=
        records_->values.emplace(std::pair(*family, it.key().ToString()), it.value().ToString())
                .second
            ? 1
            : 0;
  };
  std::string last;
  const std::unique_ptr<rocksdb::Iterator> it(table.NewIterator(rocksdb::ReadOptions()));
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    last = it->key().ToString();
    take(*it);
  }
  const std::unique_ptr<rocksdb::Iterator> back(table.NewIterator(rocksdb::ReadOptions()));
  for (back->SeekToLast(); back->Valid() && back->key() != ToSlice(last); back->Prev()) {
    take(*back);
  }
  const uint64_t held = properties->num_entries;
  Lose(name, "of " + std::to_string(held) + " records of the family " +
                 properties->column_family_name + " at most " +
                 std::to_string(held > taken ? held - taken : 0) +
                 " (erasures among them): " + why);
}

// Merges the copied tables. Their records replace those that were taken from damaged tables.
Status Salvaging::TakeCopies() {
  rocksdb::DBOptions db_options;
  db_options.info_log = SilentLogger();
  db_options.max_file_opening_threads = 1;
  const rocksdb::ColumnFamilyOptions family_options = FamilyOptions(OpenOptions());
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const char* name : kFamilyNames) families.emplace_back(name, family_options);
  rocksdb::Status status = rocksdb::RepairDB(scratch_, db_options, families);
  std::vector<std::string> names;
  if (status.ok()) status = rocksdb::DB::ListColumnFamilies(db_options, scratch_, &names);
  families.clear();
  for (const std::string& name : names) families.emplace_back(name, family_options);
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* opened = nullptr;
  if (status.ok()) {
    status = rocksdb::DB::OpenForReadOnly(db_options, scratch_, families, &handles, &opened);
  }
  if (!status.ok()) return FromRocksdb(status, "putting the tables together in " + scratch_);
  const std::unique_ptr<rocksdb::DB> db(opened);
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    const std::optional<Family> family = FamilyOf(handle->GetName());
    {
      const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}, handle));
      for (it->SeekToFirst(); it->Valid() && family; it->Next()) {
        records_->values.insert_or_assign({*family, it->key().ToString()}, it->value().ToString());
      }
      if (status.ok()) status = it->status();
    }
    db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  return FromRocksdb(status, scratch_);
}

Status Salvaging::TakeLogs() {
  std::vector<WalFile> wals;
  Status status = ListWals(dir_, &wals);
  if (status.ok() && manifest_) {
    status = CheckWals(dir_, *manifest_, nullptr);
    if (status.code() == StatusCode::kCorruption) Lose("the logs", status.message());
    if (status.code() == StatusCode::kCorruption) status = Status::Ok();
  }
  std::optional<uint64_t> next_sequence;
  for (const WalFile& wal : wals) {
    if (!status.ok()) return status;
    if (manifest_ && wal.number < manifest_->FirstLog()) continue;
    status = TakeLog(wal, &next_sequence);
  }
  return status;
}

Status Salvaging::TakeLog(const WalFile& wal, std::optional<uint64_t>* next_sequence) {
  WalSummary summary;
  const LogUse use = WalUse(&summary, [&](std::string_view batch) {
    const uint64_t sequence = ReadLittle(batch, 8);
    if (*next_sequence && sequence > **next_sequence) {
      Lose(wal.name, std::to_string(sequence - **next_sequence) + " changes before the sequence " +
                         std::to_string(sequence));
    }
    *next_sequence = sequence + ReadLittle(batch.substr(8), 4);
    Status status = ForEachChange(batch, [&](const Change& change) { Apply(wal, change); });
    // The checksum matches, but the record is not a batch that wq writes.
    if (!status.ok()) Lose(wal.name, "the changes of sequence " + std::to_string(sequence));
    return Status::Ok();
  });
  return SalvageLog(dir_ + "/" + wal.name, use, [&](const LogGap& gap) {
    Lose(wal.name, "bytes " + std::to_string(gap.begin) + " to " + std::to_string(gap.end));
  });
}

void Salvaging::Apply(const WalFile& wal, const Change& change) {
  if (change.family >= static_cast<uint32_t>(kFamilyCount)) {
    Lose(wal.name, "a record of an unknown family");
    return;
  }
  if (manifest_) {
    const auto family = manifest_->families.find(change.family);
    // The record is in a table already, and may have been changed since.
    if (family != manifest_->families.end() && wal.number < *family->second.log_number) return;
  }
  std::pair place(static_cast<Family>(change.family), std::string(change.key));
  if (change.is_put) {
    records_->values.insert_or_assign(std::move(place), std::string(change.value));
  } else {
    records_->values.erase(place);
  }
}

}  // namespace

Status Salvage(const std::string& dir, const std::string& scratch, SalvagedRecords* records) {
  *records = SalvagedRecords();
  return Salvaging(dir, scratch, records).Run();
}

}  // namespace wq::storage
