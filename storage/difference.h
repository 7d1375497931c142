// AppendDifference: the mutations that turn a part of a store into the given records.
//
//   MutationBatch rows;                        // Puts: all records that the part should have.
//   MutationBatch batch;
//   Status s = AppendDifference(reader, PartOfQueue(7), rows, &batch);
//
// After `batch` the part consists of exactly `rows`. Records that are there already are not written
// again, so the recovery of a failed store writes only what changed since the failure. Thread-safe
// for distinct arguments.
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
// Sorted by family, then begin; ranges do not overlap.
using Part = std::vector<Range>;

Part RecordsOfQueue(QueueId queue);  // Its keys, cursors and sources.
// Of a queue, what is in memory: its state, keys and cursors; neither its sources nor its
// QueueRecord.
Part PartOfQueue(QueueId queue);
Part PartOfStoreRecords();  // The QueueRecord of every queue, and the TokensRecord.

// Appends the difference to `batch`. REQUIRES: `rows` are puts of distinct records of the part.
// Blocks: reads the whole part.
Status AppendDifference(const Reader& reader, const Part& part, const MutationBatch& rows,
                        MutationBatch* batch);

}  // namespace wq::storage
