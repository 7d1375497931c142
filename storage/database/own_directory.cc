#include "storage/database/own_directory.h"

#include "base/process_mark.h"
#include "storage/check/open_check.h"
#include "storage/database/reader_database.h"
#include "storage/records.h"

namespace wq::storage {
namespace {

// RocksDB's threads belong to the process, not to a database. A forked child does not have them,
// and would wait for their work without a limit.
Status CheckThreads(const std::string& dir) {
  static const ProcessMark first_opening;
  if (!first_opening.Forked()) return Status::Ok();
  return Status::Locked("cannot open " + dir + ": this process was forked from process " +
                        std::to_string(first_opening.pid()) +
                        ", which had opened a store; use fork and exec");
}

// Whether the options allow opening what was found.
Status CheckWanted(const std::string& dir, const OpenOptions& options, const DirectoryInfo& found) {
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
  return Status::Ok();
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
  if (!found.has_database) return Status::Ok();
  std::unique_ptr<Reader> reader;
  // Without a readable manifest and all families the creation was not finished: queues are made
  // after FORMAT.
  Manifest manifest;
  if (!ReadManifest(dir, &manifest).ok() || !CheckFamilies(dir, manifest).ok()) {
    return Status::Ok();
  }
  Status status = OpenDatabaseReader(dir, "", &reader);
  if (!status.ok()) return status;
  bool has_queues = false;
  status = ScanQueues(*reader, [&has_queues](const QueueRecord&) {
    has_queues = true;
    return false;
  });
  if (status.ok() && has_queues) return Status::Corruption(dir + "/FORMAT is missing");
  return status;
}

}  // namespace wq::storage
