// Becoming the owner of a directory: the part of opening a store that comes before RocksDB.
// Internal to storage/. A crash leaves at most an empty directory, and an OWNER that nobody holds.
#pragma once

#include <memory>
#include <string>

#include "storage/open.h"
#include "storage/owner.h"
#include "storage/store_directory.h"
#include "wq/status.h"

namespace wq::storage {

// Finds out what `dir` is and makes this process its owner, if it may be opened with these options.
//   Locked           another process owns it, or this one was forked from one that had opened a store
//   AlreadyExists, NotFound, NotSupported, InvalidArgument, Corruption   as OpenStorage has them
// After a failure nothing is owned. Thread-safe.
// REQUIRES: `dir` has no slash at its end.
Status OwnDirectory(const std::string& dir, const OpenOptions& options, DirectoryInfo* look,
                    std::unique_ptr<OwnerLock>* owner);

// For a directory in state kUnfinished: Corruption if FORMAT was lost, that is, if the database
// holds queues; Ok if the creation was not finished. Changes nothing.
Status CheckUnfinished(const std::string& dir, const DirectoryInfo& look);

}  // namespace wq::storage
