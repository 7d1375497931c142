// CopyStore: copies a store's files as they were at one instant, also beside a running owner. For
// taking and restoring snapshots. Internal to storage/ and engine/.
//
//   StoreCopyReport report;
//   Status s = CopyStore("/var/lib/pods.wq", "/backup/pods/new", {.link_tables = true}, &report);
//
// How the copy is of one instant although the owner keeps writing:
//   1. The present logs are opened.
//   2. The manifest is read to its last complete record.
//   3. The tables that it names are opened, or linked.
//   4. The logs that were made since step 1 are opened.
// If nothing that this manifest needs was removed in between, these files belong together. What the
// owner appends or removes later does not matter: bytes are read from the open files, to the
// lengths that were noted. Tables never change, so a link is as good as a copy. The copy is a
// prefix of the store's writes, as after a crash, with at least every write that had reached the
// operating system at the beginning. A crash leaves a part of the copy, without FORMAT, which is
// written last.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "wq/status.h"
#include "wq/verify.h"

namespace wq::storage {

struct StoreCopyOptions {
  // Hard-link the tables where the file system can; otherwise they are copied.
  bool link_tables = true;
  // An earlier copy in the same file system: a table that is equal there, byte for byte, is linked
  // from there instead of being written again. Empty: none.
  std::string earlier = {};
  // Called before each step of 1 MiB; true ends the copying. nullptr: never cancelled.
  std::function<bool()> cancelled = nullptr;
  // Its step is "copying files". nullptr: none.
  ProgressCallback progress = nullptr;
};

struct StoreCopyReport {
  uint64_t bytes = 0;         // Of all files.
  uint64_t linked_bytes = 0;  // Of these, the bytes of tables that were linked.
};

// REQUIRES: `into` is an empty directory; neither has a slash at its end.
//   NotFound, NotSupported, InvalidArgument, Corruption as OpenReader.
//   IOError      a file could not be read or written, the owner is too busy, or it was cancelled.
// An error leaves a part of the copy in `into`, without FORMAT. Ok: everything is on the disk,
// synced; it is not read back (see VerifyFiles). Blocks: copies the whole store.
Status CopyStore(const std::string& dir, const std::string& into, const StoreCopyOptions& options,
                 StoreCopyReport* report);

}  // namespace wq::storage
