#include "storage/database/own_directory.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/names.h"
#include "base/process_mark.h"
#include "base/unfinished_directory.h"
#include "storage/check/open_check.h"
#include "storage/database/reader_database.h"
#include "storage/records.h"
#include "storage/rocksdb/opening_env.h"

namespace wq::storage {
namespace {

// RocksDB's threads belong to the process, not to a database. A forked child does not have them,
// and would wait for their work without a limit.
Status CheckThreads(const std::string& dir) {
  const ProcessMark& first = FirstThreads();
  if (!first.Forked()) return Status::Ok();
  return Status::Locked("cannot open " + dir + ": this process was forked from process " +
                        std::to_string(first.pid()) +
                        ", which had opened or read a store; use fork and exec");
}

// Whether the options allow opening what was found.
Status CheckWanted(const std::string& dir, const OpenOptions& options, const DirectoryInfo& found) {
  if (found.is_being_made && !options.being_made) return NotAStore(dir, found);
  if (found.state == DirectoryState::kStore) {
    if (options.error_if_exists) return Status::AlreadyExists(dir + " is a store already");
    if (!found.is_snapshot) return Status::Ok();
    return Status::NotSupported(
        dir + " is a snapshot, which nothing changes: wqctl snapshot restore makes a store of it");
  }
  if (found.state == DirectoryState::kUnfinished) {
    Status status = CheckUnfinished(dir, found);
    if (!status.ok()) return status;
  }
  if (!options.create_if_missing) return NotAStore(dir, found);
  if (found.state == DirectoryState::kForeign) {
    return Status::InvalidArgument("cannot make a store in " + dir + ": it holds " +
                                   found.foreign_file);
  }
  return CheckOutsideStores(dir);
}

// What a creation leaves before it has made CURRENT. RocksDB makes its first log and every table
// after that, and syncs the directory in between.
bool IsMadeBeforeCurrent(std::string_view name) {
  for (const std::string_view known :
       {"OWNER", "LOCK", "LOG", "IDENTITY", "MANIFEST-000001", kControlSocketFile, kUnfinishedFile,
        kClaimFile, "CLAIM.tmp", "lost+found"}) {
    if (name == known) return true;
  }
  return name.starts_with("LOG.old.") || name.ends_with(".dbtmp");
}

// A file that holds records, as far as its name and its size show.
bool HoldsRecords(const std::string& dir, const std::string& name) {
  std::error_code error;
  return name.ends_with(".sst") ||
         (name.ends_with(".log") && std::filesystem::file_size(dir + "/" + name, error) != 0);
}

Status Lost(const std::string& what, const std::string& why) {
  return Status::Corruption(what + ": " + why);
}

// All families are there: whether anything was written since FORMAT was.
Status CheckNeverUsed(const std::string& dir) {
  std::unique_ptr<Reader> reader;
  Status status = OpenDatabaseReader(dir, "", &reader);
  if (!status.ok()) return status;
  bool has_queues = false;
  status = ScanQueues(*reader, [&has_queues](const QueueRecord&) {
    has_queues = true;
    return false;
  });
  ProcessLogRecord log;
  if (status.ok()) status = GetProcessLog(*reader, &log);
  if (!status.ok()) return status;
  if (has_queues) return Lost(dir + "/FORMAT is missing", "the database has queues");
  if (log.InUse()) return Lost(dir + "/FORMAT is missing", "the store was open");
  return status;
}

}  // namespace

Status OwnDirectory(const std::string& dir, const OpenOptions& options, DirectoryInfo* found,
                    std::unique_ptr<OwnerLock>* owner) {
  Status status = CheckThreads(dir);
  if (status.ok()) status = InspectDirectory(dir, found);
  if (status.ok()) status = CheckWanted(dir, options, *found);
  if (status.ok() && found->state == DirectoryState::kMissing) status = MakeDirectory(dir);
  if (status.ok()) status = OwnerLock::Acquire(dir, owner);
  // Again, as the owner: another process may have made or changed the store before Acquire.
  if (status.ok()) status = InspectDirectory(dir, found);
  if (status.ok()) status = CheckWanted(dir, options, *found);
  if (!status.ok() && *owner != nullptr) (*owner)->Withdraw();
  return status;
}

Status CheckUnfinished(const std::string& dir, const DirectoryInfo& found) {
  std::vector<std::string> names;
  Status status = ListDirectory(dir, &names);
  if (!status.ok()) return status;
  if (!found.has_database) {
    const auto later = std::find_if_not(names.begin(), names.end(), IsMadeBeforeCurrent);
    if (later == names.end()) return status;
    return Lost(dir + "/FORMAT and CURRENT are missing", "it holds " + *later);
  }
  // A process log is made after FORMAT.
  const auto ring = std::find_if(names.begin(), names.end(),
                                 [](const auto& name) { return name.ends_with(".ring"); });
  if (ring != names.end()) return Lost(dir + "/FORMAT is missing", "it holds " + *ring);
  // RocksDB syncs a manifest before CURRENT names it.
  Manifest manifest;
  status = ReadManifest(dir, &manifest);
  if (!status.ok()) return status;
  status = CheckFamilies(dir, manifest);
  if (status.ok()) return CheckNeverUsed(dir);
  // All families are made before the first record is written.
  if (status.code() != StatusCode::kCorruption) return status;
  const auto records = std::find_if(names.begin(), names.end(),
                                    [&dir](const auto& name) { return HoldsRecords(dir, name); });
  if (records == names.end()) return Status::Ok();
  return Lost(dir + "/FORMAT is missing", "it holds " + *records + ", and " + status.message());
}

}  // namespace wq::storage
