// KeptRows: the rows of sources that a failed journal writes again, behind an image of all memory:
// memory has not these rows. Of each the last change counts.
//
// Not thread-safe; what Freeze has returned may be read by any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "storage/mutation_batch.h"
#include "wq/status.h"

namespace wq {

class KeptRows {
 public:
  // By their keys in the storage. nullopt: erased.
  using Rows = absl::flat_hash_map<std::string, std::optional<std::string>>;
  using Frozen = std::vector<std::shared_ptr<const Rows>>;  // From the oldest to the newest.

  // Keeps what the batch does to rows of sources.
  void Keep(const storage::MutationBatch& batch);
  // Keeps rows that are older than all that are kept.
  void KeepOldest(Rows rows);
  // Ok: `value` is the row. NotFound: it was erased. nullopt: it is not kept.
  std::optional<Status> Get(std::string_view key, std::string* value) const;
  // What is kept now. It stays kept, and later changes are not in what was returned.
  Frozen Freeze();

 private:
  Rows newest_;
  Frozen frozen_;
};

void AppendRows(const KeptRows::Frozen& rows, storage::MutationBatch* batch);

}  // namespace wq
