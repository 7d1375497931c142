// Stores to damage, held in memory, and the states that they may be read as.
//
//   const TemplateStore store = MakeAbandonedStore();
//   WriteStore(store, dir);           // the same bytes, anew
//   StateOf(*reader)                  // everything in it, as one string
//
// Thread-compatible.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/storage.h"
#include "tests/support/environment.h"
#include "tests/support/files.h"

namespace wq::storage {

using support::Files;

struct TemplateStore {
  std::string name;
  Files files;
  std::string state;  // As it should be read.
  // std::hash of the states after each of its batches.
  std::set<size_t> all_states;
};

// The first owner was killed: the store has logs, and tables of some families.
TemplateStore MakeAbandonedStore();
// The same; a second owner recovered it, wrote more and was killed.
TemplateStore MakeRecoveredStore();
// The same, closed cleanly: nothing is in its logs.
TemplateStore MakeClosedStore();
// Small enough to flip every bit of it: a log, no table.
TemplateStore MakeSmallStore();
// The small store, closed: a table for each family, and an empty log.
TemplateStore MakeSmallClosedStore();

// With a process log that was full several times; the second owner's has records which the database
// lacks.
TemplateStore MakeLoggedStore();
// The same, small: one owner, a write-ahead log and a process log of 4 KiB.
TemplateStore MakeSmallLoggedStore();
// Logged, and with several write-ahead logs, as a store has while a family is not flushed yet.
TemplateStore MakeManyLogsStore();
// One of each of these.
std::vector<TemplateStore> AllTemplateStores();

// A store with process logs at several instants in the lives of three owners, oldest first. The
// files of each are those that a kill leaves.
std::vector<TemplateStore> MakeAgingLoggedStore();

// The name of a process log; "": there is none.
std::string ProcessLogOf(const Files& files);

using Scratch = support::ScratchDirectory;

// Makes a store in `dir`, from which another one is removed, writes what `put` puts, and closes it.
void MakeStore(const std::string& dir, const std::function<void(MutationBatch*)>& put);

// The findings of Verify, or the losses of a repair: "where: what", a line each.
std::string FoundIn(const std::string& dir);
template <typename Findings>
std::string LinesOf(const Findings& findings) {
  std::string text;
  for (const auto& finding : findings) text += finding.where + ": " + finding.what + "\n";
  return text;
}

// Makes `dir` have exactly these files. Files that are equal in `dir_holds` are in `dir` already
// and not written again.
void WriteStore(const Files& files, const std::string& dir, const Files& dir_holds = {});
inline Files ReadStore(const std::string& dir) { return support::ReadFiles(dir); }

// The records of a store, by family and key, without its own and that of the process log, which a
// repaired store has of its own.
using AllRows = std::map<std::pair<Family, std::string>, std::string>;
AllRows RowsIn(const std::string& dir);

// Every record of every family, but that of the process log. Not Ok: a record could not be read.
Status StateOf(const Reader& reader, std::string* state);

}  // namespace wq::storage
