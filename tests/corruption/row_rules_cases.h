// A small store for each rule of storage/row_rules.h, with rows that break it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "storage/row_rules.h"
#include "storage/storage.h"
#include "wq/entry.h"
#include "wq/internal/import.h"
#include "wq/status.h"

namespace wq::storage {

// kSettles: it makes the rows right.
enum class Opening : uint8_t { kRefuses, kSettles, kIsUnchecked };

struct Case {
  const char* name;
  RowRule rule;
  Opening opening;
  std::function<void(MutationBatch*)> put;  // Beside the queue "pods" of id 1 and mark 100.
  std::vector<std::string> kept = {};       // Keys of "pods" that a repair keeps.
  // Calls of an Importer, of which the last one is refused. Empty: no call can make such rows.
  std::function<Status(Importer*)> import = nullptr;
};

// Rules of one row, of the rows of one key, of queues and of limits.
std::vector<Case> CasesOfOneRow();
std::vector<Case> CasesOfOneKey();
std::vector<Case> CasesOfQueues();
std::vector<Case> AllCases();

Entry EntryOf(const std::string& key, EntryState state, uint64_t sequence = 0);

}  // namespace wq::storage
