// Stores to damage, held in memory, and the states that they may be read as.
//
//   const TemplateStore store = MakeAbandonedStore();
//   WriteStore(store, dir);           // the same bytes, anew
//   StateOf(*reader)                  // everything in it, as one string
//
// Thread-compatible.
#pragma once

#include <map>
#include <set>
#include <string>

#include "storage/storage.h"
#include "tests/support/environment.h"

namespace wq::storage {

using Files = std::map<std::string, std::string>;  // Contents by name.

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

using Scratch = support::ScratchDirectory;

// Makes `dir` have exactly these files. Files that are equal in `dir_holds` are in `dir` already
// and not written again.
void WriteStore(const Files& files, const std::string& dir, const Files& dir_holds = {});
Files ReadStore(const std::string& dir);

// Every record of every family. Not Ok: a record could not be read.
Status StateOf(const Reader& reader, std::string* state);

}  // namespace wq::storage
