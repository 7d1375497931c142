#include "storage/salvage.h"

#include <fcntl.h>
#include <rocksdb/db.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/utilities/debug.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/file_calls.h"
#include "base/files.h"
#include "base/little_endian.h"
#include "base/step_progress.h"
#include "storage/check/closed_database.h"
#include "storage/check/manifest.h"
#include "storage/check/open_check.h"
#include "storage/check/table_check.h"
#include "storage/check/wal_check.h"
#include "storage/process_log/read_process_log.h"
#include "storage/record_keys.h"
#include "storage/rocksdb/opening_env.h"
#include "storage/rocksdb/setup.h"
#include "storage/row.h"
#include "storage/store_directory.h"

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
  FileDescriptor source(-1);
  uint64_t bytes = 0;
  if (Status s = OpenToRead(from, &source, &bytes); !s.ok()) return s;
  const FileDescriptor target(
      CurrentFileCalls().Open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW));
  if (!target.valid()) return IOErrorOf("cannot create", to, errno);
  return CopyBytes(source.get(), from, bytes, target.get(), to);
}

// The types of RocksDB's KeyVersion, which no public header names.
constexpr int kErasure = 0;
constexpr int kPut = 1;

// What a table says of itself.
struct TableInfo {
  std::string name;
  std::optional<Family> family;
  std::string family_name;
  std::string database;  // The IDENTITY of the database that wrote it.
  uint64_t number = 0;   // Under which it was written.
  uint64_t entries = 0;
};

// Decides between two versions of a record: its sequence. In the last level RocksDB replaces
// sequences by 0; beside such a version the one of the younger file counts.
struct Age {
  uint64_t sequence = 0;
  uint64_t table = UINT64_MAX;  // Of a log: younger than every table.
  bool operator<=(const Age& other) const {
    if (sequence == 0 || other.sequence == 0) return table <= other.table;
    return std::pair(sequence, table) <= std::pair(other.sequence, other.table);
  }
};

// The records of the process log count as if they had these sequences and higher ones: RocksDB's
// have 56 bits.
constexpr uint64_t kProcessLogSequences = uint64_t{1} << 56;

// One salvage: the tables, then the logs, then the process logs. Of each record the version with
// the highest sequence is kept, from whichever file.
//
// RocksDB merges tables on the assumption that no two of them have the same version of a record,
// and ends the process otherwise. Files that were copied, restored or replaced break that. So
// RocksDB reads one table at a time here, and the versions are merged in this class.
class Salvaging {
 public:
  Salvaging(const std::string& dir, const std::string& scratch, const ProgressCallback& progress,
            const std::function<bool()>& cancelled, SalvagedRecords* records)
      : dir_(dir),
        scratch_(scratch),
        progress_(progress),
        cancelled_(cancelled),
        records_(records) {}

  Status Run();

 private:
  using Place = std::pair<Family, std::string>;
  struct Version {
    Age age;
    std::optional<std::string> value;  // Unset: erased.
  };

  void Lose(const std::string& file, std::string what) {
    records_->losses.emplace_back(file, std::move(what));
  }
  Status CheckCancelled() const {
    return cancelled_ != nullptr && cancelled_()
               ? Status::IOError("the repair of " + dir_ + " was cancelled")
               : Status::Ok();
  }
  uint64_t BytesOf(const std::string& file) const { return FileBytes(dir_ + "/" + file); }
  Status CheckNeeded(bool* needed_are_known);
  Status FindTables(std::set<std::string>* tables);
  Status TakeTable(const std::string& name);
  Status TakeCopy(const TableInfo& table, const std::string& copy);
  void TakeDoubtful(const TableInfo& table, const std::string& why);
  bool IsAsNamed(const TableInfo& table, const std::vector<rocksdb::KeyVersion>& versions);
  Status TakeLogs(const std::vector<WalFile>& wals, StepProgress* step);
  Status TakeLog(const WalFile& wal, std::optional<uint64_t>* next_sequence);
  // Takes the store's own row of this key away, since the saved store gets none from another store.
  // False: there was none that can be decoded.
  bool TakeOwnRow(std::string_view key, Row* row);
  Status TakeProcessLogs();
  // `from`: how far the database has come in it; nullopt: not known.
  void TakeProcessLog(uint64_t number, std::optional<LogPosition> from);
  // `where`: the file that has them. Each call's count as younger than all that was taken before.
  void TakeMutations(const std::string& where, std::string_view mutations);
  void Apply(const WalFile& wal, const Mutation& change, uint64_t sequence);
  void Take(Place place, const Age& age, std::optional<std::string> value);

  const std::string& dir_;
  const std::string& scratch_;
  const ProgressCallback& progress_;
  const std::function<bool()>& cancelled_;
  SalvagedRecords* const records_;
  Manifest manifest_;              // As far as it can be read.
  bool needed_are_known_ = false;  // The manifest names the tables and logs that are needed.
  bool tables_are_known_ = false;  // The manifest names the tables that are needed.
  std::string identity_;           // Empty: not known.
  std::string uuid_;               // The store's, by FORMAT or else by its row. Empty: not known.
  uint64_t process_log_mutations_ = 0;
  std::map<Place, Version> versions_;
  std::map<Place, std::string> doubtful_;  // Of a table whose sequences say nothing.
};

Status Salvaging::Run() {
  Status status = CheckNeeded(&needed_are_known_);
  // Without IDENTITY every table is taken for this store's.
  if (status.ok() && !ReadSmallFile(dir_ + "/IDENTITY", 256, &identity_).ok()) identity_.clear();
  while (identity_.ends_with('\n')) identity_.pop_back();
  DirectoryInfo info;
  if (InspectDirectory(dir_, &info).ok()) uuid_ = info.format.uuid;
  std::set<std::string> tables;
  if (status.ok()) status = FindTables(&tables);
  if (status.ok() && mkdir(scratch_.c_str(), 0700) != 0) {
    status = IOErrorOf("cannot make", scratch_, errno);
  }
  std::vector<WalFile> wals;
  const uint64_t first_log = needed_are_known_ ? manifest_.FirstLog() : 0;
  if (status.ok()) status = ListWals(dir_, first_log, &wals);
  if (!status.ok()) return status;
  uint64_t bytes = 0;
  for (const std::string& table : tables) bytes += BytesOf(table);
  for (const WalFile& wal : wals) bytes += BytesOf(wal.name);
  StepProgress step(progress_, {.step = "reading files", .total = bytes});
  for (const std::string& table : tables) {
    if (status.ok()) status = CheckCancelled();
    if (status.ok()) status = TakeTable(table);
    step.Add(BytesOf(table));
  }
  if (status.ok()) status = TakeLogs(wals, &step);
  step.Finish();
  if (status.ok()) status = TakeProcessLogs();
  for (auto& [place, version] : versions_) {
    if (version.value) records_->values.emplace(place, *std::move(version.value));
  }
  records_->values.merge(doubtful_);  // Keeps the values that it has.
  return status;
}

// Whether the manifest can be believed: the files that it names are the ones in the directory. If
// not, it may be of an earlier point in time, and more files may be needed than it names.
Status Salvaging::CheckNeeded(bool* needed_are_known) {
  Status status = ReadManifest(dir_, &manifest_);
  if (status.ok()) status = CheckFamilies(dir_, manifest_);
  if (status.ok()) {
    status = CheckTableEnds(dir_, manifest_);
    tables_are_known_ = status.ok();
    // A table that cannot be read is a loss, and does not end the salvage.
    if (!status.ok()) status = Status::Corruption(status.message());
  }
  if (status.ok()) status = CheckWals(dir_, manifest_, nullptr);
  *needed_are_known = status.ok();
  if (status.code() != StatusCode::kCorruption) return status;
  Lose(dir_, status.message() + ": every table and log in the directory is taken");
  return Status::Ok();
}

Status Salvaging::FindTables(std::set<std::string>* tables) {
  for (const auto& [id, family] : manifest_.families) {
    for (const auto& [number, bytes] : family.tables) tables->insert(TableName(number));
  }
  if (needed_are_known_) return Status::Ok();
  std::vector<std::string> names;
  Status status = ListDirectory(dir_, &names);
  for (std::string& name : names) {
    if (name.ends_with(".sst")) tables->insert(std::move(name));
  }
  return status;
}

// Takes all of an undamaged table, and the readable records of a damaged one.
Status Salvaging::TakeTable(const std::string& name) {
  const std::string path = dir_ + "/" + name;
  struct stat info = {};
  if (lstat(path.c_str(), &info) == 0 ? !S_ISREG(info.st_mode) : errno == ENOENT) {
    Lose(name, "the table is missing; how many records it held is not known");
    return Status::Ok();
  }
  const Status end = CheckTableEnd(path);
  rocksdb::Options options;
  options.info_log = SilentLogger();
  rocksdb::SstFileReader reader(options);
  rocksdb::Status status;
  if (end.ok()) status = reader.Open(path);
  if (!end.ok() || !status.ok()) {
    Lose(name, "the whole table: " + (end.ok() ? status.ToString() : end.message()));
    return Status::Ok();
  }
  const auto properties = reader.GetTableProperties();
  const TableInfo table = {.name = name,
                           .family = FamilyOf(properties->column_family_name),
                           .family_name = properties->column_family_name,
                           .database = properties->db_id,
                           .number = properties->orig_file_number,
                           .entries = properties->num_entries};
  if (!table.family) {
    Lose(name, "the whole table, of an unknown family");
    return Status::Ok();
  }
  status = reader.VerifyChecksum();
  if (!status.ok()) {
    TakeDoubtful(table, status.ToString());
    return Status::Ok();
  }
  // RocksDB's repair changes the directory of a table. The copy has a name that RocksDB accepts.
  const std::string one = scratch_ + "/one";
  const std::string copy = one + "/000001.sst";
  Status taken =
      mkdir(one.c_str(), 0700) == 0 ? CopyFile(path, copy) : IOErrorOf("cannot make", one, errno);
  if (taken.ok()) taken = TakeCopy(table, one);
  if (taken.code() == StatusCode::kCorruption || taken.code() == StatusCode::kNotSupported) {
    TakeDoubtful(table, taken.message());
    taken = Status::Ok();
  }
  std::error_code ignored;
  std::filesystem::remove_all(one, ignored);
  return taken;
}

// Reads the only table in `copy`, with the sequences and the erasures: a reader of tables does not
// show them, but a database of this one table does.
Status Salvaging::TakeCopy(const TableInfo& table, const std::string& copy) {
  rocksdb::DBOptions db_options;
  db_options.info_log = SilentLogger();
  db_options.max_file_opening_threads = 1;
  if (Status s = StartThreads(db_options.env); !s.ok()) return s;
  const rocksdb::ColumnFamilyOptions family_options = FamilyOptions(OpenOptions());
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const char* name : kFamilyNames) families.emplace_back(name, family_options);
  rocksdb::Status status = rocksdb::RepairDB(copy, db_options, families);
  std::vector<std::string> names;
  if (status.ok()) status = rocksdb::DB::ListColumnFamilies(db_options, copy, &names);
  families.clear();
  for (const std::string& name : names) families.emplace_back(name, family_options);
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* opened = nullptr;
  if (status.ok()) {
    status = rocksdb::DB::OpenForReadOnly(db_options, copy, families, &handles, &opened);
  }
  if (!status.ok()) return FromRocksdb(status, "reading " + table.name + " in " + copy);
  const std::unique_ptr<rocksdb::DB> db(opened);
  std::vector<rocksdb::KeyVersion> versions;
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    if (status.ok() && handle->GetName() == table.family_name) {
      status = rocksdb::GetAllKeyVersions(db.get(), handle, {}, {}, SIZE_MAX, &versions);
    }
    db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  if (!status.ok()) return FromRocksdb(status, "reading " + table.name + " in " + copy);
  if (versions.size() != table.entries) {
    TakeDoubtful(table, "its records cannot be listed");
    return Status::Ok();
  }
  const bool as_named = IsAsNamed(table, versions);
  if (!identity_.empty() && table.database != identity_) {
    const std::string why = "it is a table of another database, " + table.database;
    if (!as_named) {
      TakeDoubtful(table, why + ": no record of another file is replaced by its records");
      return Status::Ok();
    }
    // If all else fits, IDENTITY was replaced, which an opening does not read.
    if (!needed_are_known_) Lose(table.name, why + ", or IDENTITY was replaced");
  }
  for (rocksdb::KeyVersion& version : versions) {
    if (version.type != kPut && version.type != kErasure) continue;  // wq writes no other.
    Take({*table.family, std::move(version.user_key)}, {version.sequence, table.number},
         version.type == kPut ? std::optional(std::move(version.value)) : std::nullopt);
  }
  return Status::Ok();
}

// Whether the manifest names this table: by its length, and its first and last record. A table that
// it names otherwise is a loss.
bool Salvaging::IsAsNamed(const TableInfo& table,
                          const std::vector<rocksdb::KeyVersion>& versions) {
  const auto bound = [](const rocksdb::KeyVersion& version) {
    std::string key = version.user_key;
    const uint64_t packed = version.sequence << 8 | static_cast<uint64_t>(version.type);
    for (int byte = 0; byte < 8; ++byte) key += static_cast<char>(packed >> 8 * byte);
    return key;
  };
  for (const auto& [id, family] : manifest_.families) {
    for (const auto& [number, bounds] : family.bounds) {
      if (TableName(number) != table.name) continue;
      if (!versions.empty() && family.name == table.family_name &&
          bounds == std::pair(bound(versions.front()), bound(versions.back()))) {
        return true;
      }
      Lose(table.name, "the table that " + manifest_.path + " names: another one is in its place");
    }
  }
  return false;
}

// Reads from both ends to the first damaged block. The records have no known sequence.
void Salvaging::TakeDoubtful(const TableInfo& table, const std::string& why) {
  rocksdb::Options options;
  options.info_log = SilentLogger();
  rocksdb::SstFileReader reader(options);
  if (!reader.Open(dir_ + "/" + table.name).ok()) {
    Lose(table.name, "the whole table: " + why);
    return;
  }
  uint64_t taken = 0;
  const auto take = [&](const rocksdb::Iterator& it) {
    doubtful_.emplace(std::pair(*table.family, it.key().ToString()), it.value().ToString());
    ++taken;
  };
  std::string last;
  const std::unique_ptr<rocksdb::Iterator> it(reader.NewIterator(rocksdb::ReadOptions()));
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    last = it->key().ToString();
    take(*it);
  }
  const std::unique_ptr<rocksdb::Iterator> back(reader.NewIterator(rocksdb::ReadOptions()));
  for (back->SeekToLast(); back->Valid() && (taken == 0 || back->key() != ToSlice(last));
       back->Prev()) {
    take(*back);
  }
  Lose(table.name, "of " + std::to_string(table.entries) + " records of the family " +
                       table.family_name + " at most " +
                       std::to_string(table.entries > taken ? table.entries - taken : 0) +
                       " (erasures among them): " + why);
}

Status Salvaging::TakeLogs(const std::vector<WalFile>& wals, StepProgress* step) {
  Status status;
  std::optional<uint64_t> next_sequence;
  for (const WalFile& wal : wals) {
    if (status.ok()) status = CheckCancelled();
    if (!status.ok()) return status;
    status = TakeLog(wal, &next_sequence);
    step->Add(BytesOf(wal.name));
  }
  return status;
}

Status Salvaging::TakeLog(const WalFile& wal, std::optional<uint64_t>* next_sequence) {
  WalSummary summary;
  const LogUse use = WalUse(&summary, [&](std::string_view batch) {
    const uint64_t sequence = LittleEndianAt<uint64_t>(batch, 0);
    if (*next_sequence && sequence > **next_sequence) {
      Lose(wal.name, std::to_string(sequence - **next_sequence) + " changes before the sequence " +
                         std::to_string(sequence));
    }
    *next_sequence = sequence + LittleEndianAt<uint32_t>(batch, 8);
    Status status = ForEachChange(batch, [&](const Mutation& change, uint64_t changed_at) {
      Apply(wal, change, changed_at);
    });
    // The checksum matches, but the record is not a batch that wq writes.
    if (!status.ok()) Lose(wal.name, "the changes of sequence " + std::to_string(sequence));
    return Status::Ok();
  });
  // The torn tail that a kill leaves is no loss: see wal_check.h.
  WalSummary sound;
  const bool torn_only = CheckWal(dir_ + "/" + wal.name, &sound).ok();
  return SalvageLog(dir_ + "/" + wal.name, use, [&](const LogGap& gap) {
    if (torn_only && gap.begin >= sound.valid_bytes) return;
    Lose(wal.name, "bytes " + std::to_string(gap.begin) + " to " + std::to_string(gap.end));
  });
}

bool Salvaging::TakeOwnRow(std::string_view key, Row* row) {
  const Place place(Family::kDefault, std::string(key));
  doubtful_.erase(place);
  const auto version = versions_.extract(place);
  if (version.empty() || !version.mapped().value) return false;
  const Status decoded = row->Decode(Family::kDefault, key, *version.mapped().value);
  if (!decoded.ok()) Lose("the row " + place.second, decoded.message());
  return decoded.ok();
}

// Takes what an opening would take. If it would refuse the logs: every intact record that the
// database lacks, even behind a damaged one. All of them are younger than the database. A later log
// has records only if the database has lost its record of that log.
Status Salvaging::TakeProcessLogs() {
  Row row;
  records_->has_store_record = TakeOwnRow(kStoreKey, &row);
  const std::string uuid = records_->has_store_record ? row.As<StoreRecord>()->uuid : "";
  if (!uuid_.empty() && uuid != uuid_) {
    Lose(dir_, "the records of store " + uuid_ + ", which FORMAT names: its own record is " +
                   (uuid.empty() ? "missing" : "that of store " + uuid));
  }
  if (uuid_.empty()) uuid_ = uuid;
  // The saved store is no replica.
  if (TakeOwnRow(kReplicationKey, &row) && !row.As<ReplicationRecord>()->seeded) {
    Lose(dir_, "keys of the log: it is a replica whose first copy was not finished");
  }
  if (TakeOwnRow(kAheadKey, &row))
    TakeMutations(std::string(kAheadKey), row.As<AheadRecord>()->mutations);
  const size_t losses = records_->losses.size();
  ProcessLogRecord last;
  if (TakeOwnRow(kProcessLogKey, &row)) last = *row.As<ProcessLogRecord>();
  FoundProcessLogs logs;
  std::vector<uint64_t> numbers;
  Status status = logs.Read(dir_);
  if (status.ok()) status = ListProcessLogs(dir_, &numbers);
  if (!status.ok()) return status;
  MutationBatch unwritten;
  const Status accepted = logs.AppendUnwritten(last, uuid_, &unwritten);
  if (accepted.ok() && records_->losses.size() == losses) {
    TakeMutations("the process log", unwritten.mutations());
    return status;
  }
  if (last.InUse() && !std::binary_search(numbers.begin(), numbers.end(), last.number)) {
    Lose(ProcessLogName(last.number), "all of its records: it is missing");
  }
  for (const uint64_t number : numbers) {
    if (number > last.number || (number == last.number && last.InUse())) {
      TakeProcessLog(number, number == last.number ? std::optional(last.position) : std::nullopt);
    }
  }
  // All that is there is intact, but it is not what the owner left: of an older log, for instance,
  // nobody knows what the last one had behind it.
  if (records_->losses.size() == losses) Lose("the process log", accepted.message());
  return status;
}

void Salvaging::TakeMutations(const std::string& where, std::string_view mutations) {
  MutationBatch batch;
  if (!batch.AppendMutations(mutations)) Lose(where, "a record that is not of this format");
  batch.ForEach([&](const Mutation& mutation) {
    Place changed(mutation.family, std::string(mutation.key));
    doubtful_.erase(changed);
    Take(std::move(changed), {.sequence = kProcessLogSequences + process_log_mutations_++},
         mutation.is_put ? std::optional<std::string>(mutation.value) : std::nullopt);
  });
}

void Salvaging::TakeProcessLog(uint64_t number, std::optional<LogPosition> from) {
  const std::string name = ProcessLogName(number);
  ProcessLogContents contents;
  const Status read = ReadProcessLog(dir_, number, &contents);
  if (!read.ok()) {
    Lose(name, "all of its records: " + read.message());
    return;
  }
  if (!uuid_.empty() && contents.header().store_uuid != uuid_) {
    Lose(name, "all of its records: it belongs to store " + contents.header().store_uuid);
    return;
  }
  // Without its position in the database only the last records without a gap are taken: of earlier
  // ones the database may have a later change.
  const bool known = from.has_value();
  std::vector<std::string> run;
  bool ended = false;
  const auto keep = [&](std::string_view mutations) {
    if (std::exchange(ended, false) && !known) run.clear();
    run.emplace_back(mutations);
  };
  contents.Salvage(from.value_or(0), keep, [&](LogPosition begin, LogPosition end) {
    ended = true;
    Lose(name, "the records from position " + std::to_string(begin) + " to " + std::to_string(end) +
                   (known ? "" : ", as far as the database lacks them"));
  });
  for (const std::string& mutations : run) TakeMutations(name, mutations);
}

void Salvaging::Apply(const WalFile& wal, const Mutation& change, uint64_t sequence) {
  if (tables_are_known_) {
    const auto family = manifest_.families.find(static_cast<uint32_t>(change.family));
    // The change is in a table, which may have it without its sequence; a later change of the same
    // record may be there as well.
    if (family != manifest_.families.end() && wal.number < family->second.log_number.value_or(0)) {
      return;
    }
  }
  Place place(change.family, std::string(change.key));
  doubtful_.erase(place);  // Most likely it is older than the log.
  Take(std::move(place), {.sequence = sequence},
       change.is_put ? std::optional<std::string>(change.value) : std::nullopt);
}

void Salvaging::Take(Place place, const Age& age, std::optional<std::string> value) {
  const auto [held, is_new] = versions_.try_emplace(std::move(place));
  if (is_new || held->second.age <= age) held->second = {age, std::move(value)};
}

}  // namespace

Status Salvage(const std::string& dir, const std::string& scratch, const ProgressCallback& progress,
               const std::function<bool()>& cancelled, SalvagedRecords* records) {
  *records = SalvagedRecords();
  return Salvaging(dir, scratch, progress, cancelled, records).Run();
}

}  // namespace wq::storage
