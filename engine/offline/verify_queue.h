// CheckQueueRows: the rows of one queue, each by itself and against one another
// (storage/row_rules.h).
#pragma once

#include <cstdint>
#include <string>

#include "base/step_progress.h"
#include "engine/offline/findings.h"
#include "storage/records.h"

namespace wq {

// How many rows of each kind a queue has.
struct RowCounts {
  uint64_t pending = 0;
  uint64_t delayed = 0;
  uint64_t failing = 0;
  uint64_t quarantined = 0;
};

// Appends a finding for each broken rule. A queue may have more keys than fit into memory: their
// hashes are kept, and the rows of equal hashes are read again. Adds the rows to
// `step`.
RowCounts CheckQueueRows(const storage::Reader& reader, storage::QueueId id,
                         const std::string& name, uint64_t high_water_mark, Findings* findings,
                         StepProgress* step);

}  // namespace wq
