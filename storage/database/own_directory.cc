#include "storage/database/own_directory.h"

#include "base/process_mark.h"
#include "storage/check/open_check.h"
#include "storage/database/reader_database.h"
#include "storage/records.h"

namespace wq::storage {
namespace {

// RocksDB's threads are the process's, not a database's. A fork leaves them behind, and whatever they
// would do in the child is waited for for ever.
Status CheckThreads(const std::string& dir) {
  static const ProcessMark first_opening;
  if (!first_opening.Forked()) return Status::Ok();
  return Status::Locked("cannot open " + dir + ": this process was forked from process " +
                        std::to_string(first_opening.pid()) +
                        ", which had opened a store; use fork and exec");
}

// Whether what was found may be opened with these options.
Status CheckWanted(const std::string& dir, const OpenOptions& options, const DirectoryInfo& look) {
  if (look.state == DirectoryState::kStore) {
    if (options.error_if_exists) return Status::AlreadyExists(dir + " is a store already");
    if (!look.is_snapshot) return Status::Ok();
    return Status::NotSupported(
        dir + " is a snapshot, which nothing changes: restore it into a new place");
  }
  if (look.state == DirectoryState::kUnfinished) {
    Status status = CheckUnfinished(dir, look);
    if (!status.ok()) return status;
  }
  if (!options.create_if_missing) return NotAStore(dir, look);
  if (look.state == DirectoryState::kForeign) {
    return Status::InvalidArgument("cannot make a store in " + dir + ": it holds " +
                                   look.foreign_file);
  }
  return Status::Ok();
}

}  // namespace

Status OwnDirectory(const std::string& dir, const OpenOptions& options, DirectoryInfo* look,
                    std::unique_ptr<OwnerLock>* owner) {
  Status status = CheckThreads(dir);
  if (status.ok()) status = InspectDirectory(dir, look);
  if (status.ok()) status = CheckWanted(dir, options, *look);
  if (status.ok() && look->state == DirectoryState::kMissing) status = MakeDirectory(dir);
  if (status.ok()) status = OwnerLock::Acquire(dir, owner);
  // Once more, as the owner: another process may have made or changed the store meanwhile.
  if (status.ok()) status = InspectDirectory(dir, look);
  if (status.ok()) status = CheckWanted(dir, options, *look);
  if (!status.ok() && *owner != nullptr) (*owner)->Withdraw();
  return status;
}

Status CheckUnfinished(const std::string& dir, const DirectoryInfo& look) {
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

}  // namespace wq::storage
