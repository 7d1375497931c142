// ImportedRows: which rows an import has made, to refuse an entry that contradicts them. It keeps a
// hash of each row. Only for equal hashes it asks FindRow whether the rows are of one key; names of
// cursors, and of objects, that have one hash count as one.
//
//   ImportedRows rows(find_row);
//   Status s = rows.Add(queue, entry, sequence);
//
// Thread-compatible. Memory: 10 to 21 bytes for each row; see SequenceSet for the sequences.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string_view>

#include <absl/container/flat_hash_set.h>

#include "engine/state/sequence_set.h"
#include "storage/records.h"
#include "storage/row_rules.h"
#include "wq/entry.h"
#include "wq/status.h"

namespace wq {

class ImportedRows {
 public:
  // Sets *found to whether the key has a row at the place. Called for equal hashes only.
  using FindRow = std::function<Status(storage::QueueId queue, storage::RowPlace place,
                                       std::string_view key, bool* found)>;
  explicit ImportedRows(FindRow find);

  // Adds the rows of the entry. InvalidArgument, naming the key: they break a rule beside the rows
  // that were added before; or the error of FindRow. `sequence` is that of a pending entry.
  Status Add(storage::QueueId queue, const Entry& entry, uint64_t sequence);
  // False: the queue has a cursor, or an object, of this name already.
  bool AddName(storage::QueueId queue, std::string_view name);

 private:
  Status AddRow(storage::QueueId queue, storage::RowPlace place, std::string_view key);

  const FindRow find_;
  absl::flat_hash_set<uint64_t> hashes_;
  std::map<storage::QueueId, SequenceSet> sequences_;
};

}  // namespace wq
