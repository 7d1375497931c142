#include "storage/own_directory.h"

#include "storage/process_mark.h"
#include "storage/rocksdb_setup.h"

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
Status CheckWanted(const std::string& dir, const RocksdbOptions& options,
                   const DirectoryLook& look) {
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

Status OwnDirectory(const std::string& dir, const RocksdbOptions& options, DirectoryLook* look,
                    std::unique_ptr<OwnerLock>* owner) {
  Status status = CheckThreads(dir);
  if (status.ok()) status = LookAtDirectory(dir, look);
  if (status.ok()) status = CheckWanted(dir, options, *look);
  if (status.ok() && look->state == DirectoryState::kMissing) status = MakeDirectory(dir);
  if (status.ok()) status = OwnerLock::Acquire(dir, owner);
  // Once more, as the owner: another process may have made or changed the store meanwhile.
  if (status.ok()) status = LookAtDirectory(dir, look);
  if (status.ok()) status = CheckWanted(dir, options, *look);
  if (!status.ok() && *owner != nullptr) (*owner)->Withdraw();
  return status;
}

}  // namespace wq::storage
