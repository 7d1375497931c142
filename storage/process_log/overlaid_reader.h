// OverlaidReader: a database with mutations laid over it that are not written to it yet. For
// reading a store with what its process log has. Internal to storage/.
//
//   std::unique_ptr<Reader> reader =
//       std::make_unique<OverlaidReader>(std::move(database), unwritten);
//
// Immutable, so thread-safe.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "storage/mutation_batch.h"
#include "storage/storage.h"

namespace wq::storage {

class OverlaidReader final : public Reader {
 public:
  // Copies the mutations.
  OverlaidReader(std::unique_ptr<Reader> database, const MutationBatch& unwritten);

  Status Get(Family family, std::string_view key, std::string* value) const override;
  Status Scan(Family family, std::string_view begin, std::string_view end,
              const Visitor& visit) const override;
  uint64_t FamilyBytes(Family family) const override { return database_->FamilyBytes(family); }

 private:
  // By key; unset: erased.
  using Rows = std::map<std::string, std::optional<std::string>, std::less<>>;

  const Rows& RowsOf(Family family) const { return rows_[static_cast<size_t>(family)]; }

  const std::unique_ptr<Reader> database_;
  std::array<Rows, kFamilyCount> rows_;
};

}  // namespace wq::storage
