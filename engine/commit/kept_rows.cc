#include "engine/commit/kept_rows.h"

#include <utility>

#include "base/mutant.h"

namespace wq {

void KeptRows::Keep(const storage::MutationBatch& batch) {
  batch.ForEach([this](const storage::Mutation& mutation) {
    if (mutation.family == storage::Family::kSources && !WQ_MUTANT(forget_rows_of_a_failure)) {
      newest_.insert_or_assign(
          std::string(mutation.key),
          mutation.is_put ? std::optional<std::string>(mutation.value) : std::nullopt);
    }
  });
}

void KeptRows::KeepOldest(Rows rows) {
  if (!rows.empty()) {
    frozen_.insert(frozen_.begin(), std::make_shared<Rows>(std::move(rows)));
  }
}

std::optional<Status> KeptRows::Get(std::string_view key, std::string* value) const {
  const Rows* rows = &newest_;
  for (size_t older = frozen_.size();; rows = frozen_[--older].get()) {
    if (const auto it = rows->find(std::string(key)); it != rows->end()) {
      *value = it->second.value_or("");
      return it->second.has_value() ? Status::Ok() : Status::NotFound("the row was erased");
    }
    if (older == 0) {
      return std::nullopt;
    }
  }
}

KeptRows::Frozen KeptRows::Freeze() {
  if (!newest_.empty()) {
    frozen_.push_back(std::make_shared<Rows>(std::exchange(newest_, {})));
  }
  return frozen_;
}

void AppendRows(const KeptRows::Frozen& rows, storage::MutationBatch* batch) {
  for (const auto& older : rows) {
    for (const auto& [key, value] : *older) {
      if (value.has_value()) {
        batch->Put(storage::Family::kSources, key, *value);
      } else {
        batch->Erase(storage::Family::kSources, key);
      }
    }
  }
}

}  // namespace wq
