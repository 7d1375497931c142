// Repair: saves what can be read of a damaged store into a new store.
//
//   wq::RepairReport report;
//   wq::Status s = wq::Repair("/var/lib/pods.wq", "/var/lib/pods.new.wq", &report);
//   for (const wq::Loss& l : report.losses) std::cerr << l.where << ": " << l.what << "\n";
//
// The old store is only read; no byte of it changes. The new store has a new uuid, and Verify
// finds nothing wrong with it. A key that was done, or an older failure count, may reappear, if
// the record that removed it is lost. So a key may be reconciled once more; no readable key is
// omitted.
// Memory: all records of the store.
// Threading: thread-safe. Lifetime: keeps nothing after the call. A crash: the new store is
// complete or absent, as it is built beside its place and renamed at the end.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "wq/status.h"
#include "wq/verify.h"

namespace wq {

// Data that could not be saved, or was saved with a change.
struct Loss {
  std::string where;  // The file, or the queue. Escaped for one line.
  std::string what;   // In words: the range, and the number of records if known.
};

struct RepairReport {
  std::vector<Loss> losses;  // Empty: the new store holds all that the old one held.
  uint64_t records = 0;      // In the new store.
  uint64_t queues = 0;
};

struct RepairOptions {
  // Called repeatedly during the call; true ends it with IOError, and nothing is left. Default:
  // nullptr, never.
  std::function<bool()> cancelled = nullptr;
  // Told how far the call is: "reading files", "comparing records", "writing records". Default:
  // nullptr, nobody.
  ProgressCallback progress = nullptr;
};

// Saves the store `dir` into a new store `into`.
//   NotFound         `dir` is not a store.
//   NotSupported     `dir` has another format version.
//   AlreadyExists    `into` exists; or the directory in which it is built, of the same name with
//                    ".repairing" behind it, has files, and no call has made it.
//   InvalidArgument  `dir` is a symbolic link, or `into` is inside a store.
//   Locked           `dir` has a living owner: the store needs no repair, or the owner must be
//                    stopped first.
//   IOError          a file could not be read or written; nothing is left at `into`.
// Blocks: for reading the old store and writing the new one.
Status Repair(const std::string& dir, const std::string& into, const RepairOptions& options,
              RepairReport* report);
// With the default options.
Status Repair(const std::string& dir, const std::string& into, RepairReport* report);

}  // namespace wq
