// A copy of a store's files as they were at one moment, beside a running owner too. For snapshots and
// for restoring them. Internal to storage/ and engine/.
//
//   StoreCopyReport report;
//   Status s = CopyStore("/var/lib/pods.wq", "/backup/pods/new", {.link_tables = true}, &report);
//
// How the copy is of one moment though its owner goes on: the logs that are there are opened; the
// manifest is read to its last whole record; the tables that it names are opened, or linked; then the
// logs that were made meanwhile. If nothing that this manifest needs was removed in between, they
// belong together, and what the owner appends or removes later does not matter: bytes are read from
// what is open, to the lengths that were taken. Tables never change: so a link will do for them. What
// is copied is a prefix of what was done, as a crash would have left it: all that was in the operating
// system's hands at the beginning is in it.
// A crash leaves a part of the copy, without FORMAT: it is written last.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "wq/status.h"

namespace wq::storage {

struct StoreCopyOptions {
  // Hard links to the tables, where the file system can; otherwise they are copied.
  bool link_tables = true;
  // An earlier copy in the file system of the new one: a table that is there to the byte is linked
  // from there instead of being written again. Empty: none.
  std::string earlier = {};
  // Asked now and then; true ends the copying. nullptr: never.
  std::function<bool()> cancelled = nullptr;
};

struct StoreCopyReport {
  uint64_t bytes = 0;         // Of all files.
  uint64_t linked_bytes = 0;  // Of these, those of tables that are links.
};

// REQUIRES: `into` is an empty directory; neither has a slash at its end.
//   NotFound, NotSupported, InvalidArgument, Corruption as OpenReader.
//   IOError      something could not be read or written; or the owner is too busy; or it was cancelled.
// What was written, FORMAT apart, is left there then. Ok: everything is on the disk, synced. It is not
// read back: see VerifyFiles. Blocks: for the copying.
Status CopyStore(const std::string& dir, const std::string& into, const StoreCopyOptions& options,
                 StoreCopyReport* report);

}  // namespace wq::storage
