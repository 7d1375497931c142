// Repair: saves what can be read of a damaged store into a new one.
//
//   wq::RepairReport report;
//   wq::Status s = wq::Repair("/var/lib/pods.wq", "/var/lib/pods.new.wq", &report);
//   for (const wq::Loss& loss : report.losses) std::cerr << loss.where << ": " << loss.what << "\n";
//
// The old store is read only, and not changed by one byte. The new one is whole, or not there: it is
// built beside its place and renamed at the end. It has a uuid of its own, and Verify finds nothing
// wrong with it. What may come back: a key that was done, or an older failure count, if the record
// that took it away is what was lost. So a key may be reconciled once more; no key that can be read is
// left out. Threading: thread-safe. Memory: all records of the store.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wq/status.h"

namespace wq {

// Something that could not be saved, or not as it was.
struct Loss {
  std::string where;  // The file, or the queue. Escaped: fit for one line.
  std::string what;   // In words: the range, and the number of records where it is known.
};

struct RepairReport {
  std::vector<Loss> losses;  // Empty: the new store holds all that the old one held.
  uint64_t records = 0;      // In the new store.
  uint64_t queues = 0;
};

//   NotFound        `dir` is not a store. NotSupported: of another format version.
//   AlreadyExists   there is something at `into`. InvalidArgument: `dir` is a symbolic link.
//   Locked          `dir` has a living owner: its store needs no repair, or must be stopped before.
//   IOError         something could not be read or written; nothing is left at `into`.
// Blocks: for reading the one and writing the other.
Status Repair(const std::string& dir, const std::string& into, RepairReport* report);

}  // namespace wq
