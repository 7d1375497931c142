// Difference: what turns a part of a store into what it should be.
//
//   MutationBatch rows;                                  // puts: all that the part should hold
//   MutationBatch batch;
//   Status s = AppendDifference(reader, PartOfQueue(7), rows, &batch);
//
// After `batch` the part holds exactly `rows`. What is there already is not written again; so of a
// store that failed for a while only what changed meanwhile is written. Thread-safe for distinct
// arguments.
#pragma once

#include <string>
#include <vector>

#include "storage/records.h"
#include "storage/storage.h"
#include "wq/status.h"

namespace wq::storage {

// The records of a family with begin <= key < end.
struct Range {
  Family family = Family::kDefault;
  std::string begin = {};
  std::string end = {};
};
// Sorted by family, then begin; they do not meet.
using Part = std::vector<Range>;

Part PartOfQueue(QueueId queue);  // Its keys, cursors and state; not its QueueRecord.
Part PartOfQueueRecords();        // The QueueRecord of every queue.

// Appends the difference to `batch`. REQUIRES: `rows` are puts, each of another record of the part.
// Blocks: reads all of the part.
Status AppendDifference(const Reader& reader, const Part& part, const MutationBatch& rows,
                        MutationBatch* batch);

}  // namespace wq::storage
