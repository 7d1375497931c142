#include "storage/process_log/overlaid_reader.h"

#include <utility>

namespace wq::storage {

OverlaidReader::OverlaidReader(std::unique_ptr<Reader> database, const MutationBatch& unwritten)
    : database_(std::move(database)) {
  unwritten.ForEach([this](const Mutation& mutation) {
    std::optional<std::string>& row =
        rows_[static_cast<size_t>(mutation.family)][std::string(mutation.key)];
    row = mutation.is_put ? std::optional(std::string(mutation.value)) : std::nullopt;
  });
}

Status OverlaidReader::Get(Family family, std::string_view key, std::string* value) const {
  const Rows& rows = RowsOf(family);
  const auto row = rows.find(key);
  if (row == rows.end()) return database_->Get(family, key, value);
  if (!row->second.has_value()) return Status::NotFound("no such record");
  *value = *row->second;
  return Status::Ok();
}

Status OverlaidReader::Scan(Family family, std::string_view begin, std::string_view end,
                            const Visitor& visit) const {
  const Rows& rows = RowsOf(family);
  auto row = rows.lower_bound(begin);
  const auto last = end.empty() ? rows.end() : rows.lower_bound(end);
  bool go_on = true;
  // Visits the overlaid rows before `key`, or all of them.
  const auto visit_before = [&](const std::string_view* key) {
    for (; go_on && row != last && (key == nullptr || row->first < *key); ++row) {
      if (row->second.has_value()) go_on = visit(row->first, *row->second);
    }
  };
  Status status =
      database_->Scan(family, begin, end, [&](std::string_view key, std::string_view value) {
        visit_before(&key);
        if (go_on && (row == last || row->first != key)) go_on = visit(key, value);
        return go_on;
      });
  if (status.ok()) visit_before(nullptr);
  return status;
}

}  // namespace wq::storage
