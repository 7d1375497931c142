#include "engine/offline/imported_rows.h"

#include <optional>
#include <utility>

#include <absl/hash/hash.h>

namespace wq {

using storage::QueueId;
using storage::RowPlace;
using storage::RowRule;

namespace {

// The names of cursors and objects are not keys: another place than any RowPlace.
constexpr int kNamePlace = -1;

uint64_t HashOf(QueueId queue, int place, std::string_view name) {
  return absl::HashOf(queue, place, name);
}
uint64_t HashOf(QueueId queue, RowPlace place, std::string_view key) {
  return HashOf(queue, static_cast<int>(place), key);
}

// Where the entry has its own row; its failures are another one.
std::optional<RowPlace> PlaceOf(EntryState state) {
  switch (state) {
    case EntryState::kPending:
      return RowPlace::kPending;
    case EntryState::kDelayed:
      return RowPlace::kDelayed;
    case EntryState::kFailing:
      return std::nullopt;
    case EntryState::kQuarantined:
      return RowPlace::kQuarantine;
  }
  return std::nullopt;
}

Status Refuse(std::string_view key, RowRule broken) {
  return Status::InvalidArgument(storage::DescribeRow("key", key, broken));
}

}  // namespace

ImportedRows::ImportedRows(FindRow find) : find_(std::move(find)) {}

Status ImportedRows::Add(QueueId queue, const Entry& entry, uint64_t sequence) {
  if (const auto place = PlaceOf(entry.state)) {
    if (Status s = AddRow(queue, *place, entry.key); !s.ok()) return s;
  }
  // A quarantined key's failures are in its row of quarantine.
  if (entry.failures && entry.state != EntryState::kQuarantined) {
    if (Status s = AddRow(queue, RowPlace::kFailures, entry.key); !s.ok()) return s;
  }
  if (entry.state == EntryState::kPending && !sequences_[queue].Insert(sequence)) {
    return Refuse(entry.key, RowRule::kSequenceTwice);
  }
  return {};
}

Status ImportedRows::AddRow(QueueId queue, RowPlace place, std::string_view key) {
  Status status;
  const auto has = [&](RowPlace other) {
    bool found = hashes_.contains(HashOf(queue, other, key));
    if (found && status.ok()) status = find_(queue, other, key, &found);
    return found;
  };
  const RowRule broken = storage::CheckBeside(place, has);
  if (!status.ok()) return status;
  if (broken != RowRule::kNone) return Refuse(key, broken);
  hashes_.insert(HashOf(queue, place, key));
  return {};
}

bool ImportedRows::AddName(QueueId queue, std::string_view name) {
  return hashes_.insert(HashOf(queue, kNamePlace, name)).second;
}

}  // namespace wq
