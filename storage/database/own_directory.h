// Becoming the owner of a directory: the part of opening a store before RocksDB. Internal to
// storage/. A crash leaves at most an empty directory, and an OWNER that is not locked.
#pragma once

#include <memory>
#include <string>

#include "storage/open.h"
#include "storage/owner.h"
#include "storage/store_directory.h"
#include "wq/status.h"

namespace wq::storage {

// Inspects `dir`, and makes this process its owner if the options allow opening it.
//   Locked           another process owns it, or this one was forked after opening a store
//   AlreadyExists, NotFound, NotSupported, InvalidArgument, Corruption   as OpenStorage has them
// After an error this process does not own it. Thread-safe.
// REQUIRES: `dir` has no slash at its end.
Status OwnDirectory(const std::string& dir, const OpenOptions& options, DirectoryInfo* found,
                    std::unique_ptr<OwnerLock>* owner);

// For a directory in state kUnfinished: Ok if it has no more than an interrupted creation leaves,
// which another creation may finish. Corruption if FORMAT was lost: there is a file, a queue or a
// process log that is made after FORMAT, or the database is damaged. Changes nothing.
Status CheckUnfinished(const std::string& dir, const DirectoryInfo& found);

}  // namespace wq::storage
