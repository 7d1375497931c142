#include "storage/difference.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/mutant.h"
#include "storage/record_keys.h"

namespace wq::storage {
namespace {

// Rows in the order of a scan.
class SortedRows {
 public:
  explicit SortedRows(const MutationBatch& rows) {
    rows_.reserve(rows.count());
    rows.ForEach([this](const Mutation& row) { rows_.push_back(row); });
    const auto place = [](const Mutation& row) { return std::pair(row.family, row.key); };
    std::sort(rows_.begin(), rows_.end(),
              [&place](const Mutation& a, const Mutation& b) { return place(a) < place(b); });
  }

  // Whether the next row is of this family, with a key below `end`; an empty `end` is above all
  // keys.
  bool HasBelow(Family family, std::string_view end) const {
    return next_ < rows_.size() && rows_[next_].family == family &&
           (end.empty() || rows_[next_].key < end);
  }
  bool HasAt(Family family, std::string_view key) const {
    return next_ < rows_.size() && rows_[next_].family == family && rows_[next_].key == key;
  }
  const Mutation& Take() { return rows_[next_++]; }
  bool AtEnd() const { return next_ == rows_.size(); }

 private:
  std::vector<Mutation> rows_;
  size_t next_ = 0;
};

void Put(const Mutation& row, MutationBatch* batch) { batch->Put(row.family, row.key, row.value); }

}  // namespace

Part RecordsOfQueue(QueueId queue) {
  Part part;
  const std::string prefix = QueueKeyPrefix(queue);
  for (const Family family : {Family::kDirty, Family::kLanes, Family::kDelayed, Family::kFailures,
                              Family::kQuarantine, Family::kCursors, Family::kSources}) {
    part.push_back({family, prefix, PrefixEnd(prefix)});
  }
  return part;
}

Part PartOfQueue(QueueId queue) {
  Part part = RecordsOfQueue(queue);
  part.pop_back();  // Its sources, which come last.
  const std::string state = StateKey(queue);
  part.insert(part.begin(), {Family::kDefault, state, PrefixEnd(state)});
  return part;
}

Part PartOfStoreRecords() {
  const std::string prefix(kQueuePrefix);
  const std::string tokens(kTokensKey);
  return {{Family::kDefault, prefix, PrefixEnd(prefix)},
          {Family::kDefault, tokens, PrefixEnd(tokens)}};
}

Status AppendDifference(const Reader& reader, const Part& part, const MutationBatch& rows,
                        MutationBatch* batch) {
  SortedRows sorted(rows);
  for (const Range& range : part) {
    Status status = reader.Scan(
        range.family, range.begin, range.end, [&](std::string_view key, std::string_view value) {
          while (sorted.HasBelow(range.family, key)) Put(sorted.Take(), batch);
          if (!sorted.HasAt(range.family, key)) {
            if (!WQ_MUTANT(recover_without_erases)) batch->Erase(range.family, key);
          } else if (const Mutation& row = sorted.Take(); row.value != value) {
            Put(row, batch);
          }
          return true;
        });
    if (!status.ok()) return status;
    while (sorted.HasBelow(range.family, range.end)) Put(sorted.Take(), batch);
  }
  WQ_CHECK(sorted.AtEnd(), "a row outside of the part that it belongs to");
  return Status::Ok();
}

}  // namespace wq::storage
