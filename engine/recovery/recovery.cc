#include "engine/recovery/recovery.h"

#include <string>
#include <variant>
#include <vector>

#include "engine/recovery/read_ahead.h"

namespace wq {
namespace {

// How many records ahead the place of a key in the item table is prefetched, and then its item.
constexpr size_t kPlacesAhead = 16;
constexpr size_t kItemsAhead = 8;

Status Restore(const storage::QuarantineRecord& record, Time /*now*/, QueueState* state) {
  return state->RestoreQuarantine(record);
}
Status Restore(const storage::PendingRecord& record, Time /*now*/, QueueState* state) {
  return state->RestorePending(record);
}
Status Restore(const storage::DelayedRecord& record, Time now, QueueState* state) {
  return state->RestoreDelayed(record, now);
}
Status Restore(const storage::FailureRecord& record, Time /*now*/, QueueState* state) {
  return state->RestoreFailures(record);
}
Status Restore(const storage::CursorRecord& record, Time /*now*/, QueueState* state) {
  return state->RestoreCursor(record);
}
Status Restore(const storage::SourceRecord& record, Time /*now*/, QueueState* state) {
  return state->RestoreSource(record);
}
Status Restore(const storage::ObjectRecord& record, Time /*now*/, QueueState* state) {
  return state->RestoreObject(record);
}

// Stops at the first record that is refused.
template <typename Record>
Status RestoreAll(const std::vector<Record>& records, Time now, QueueState* state) {
  Status status;
  for (size_t i = 0; i < records.size() && status.ok(); ++i) {
    if constexpr (requires { records[i].key; }) {
      if (i + kPlacesAhead < records.size()) {
        state->Prefetch(records[i + kPlacesAhead].key);
        state->PrefetchItem(records[i + kItemsAhead].key);
      }
    }
    status = Restore(records[i], now, state);
  }
  return status;
}

}  // namespace

Status RestoreQueue(const storage::Reader& reader, storage::QueueId id, Time now,
                    QueueState* state) {
  storage::QueueStateRecord own;
  std::string buffer;
  Status status = storage::GetQueueState(reader, id, &buffer, &own);
  if (!status.ok() && status.code() != StatusCode::kNotFound) {  // A new queue has none.
    return status;
  }
  status = state->RestoreState(own, now);
  if (!status.ok()) {
    return status;
  }
  ReadAhead ahead(reader, id);
  ReadAhead::Chunk chunk;
  while (status.ok() && ahead.Next(&chunk)) {
    status = std::visit([&](const auto& records) { return RestoreAll(records, now, state); },
                        chunk.records);
  }
  if (status.ok()) {
    status = ahead.status();
  }
  if (status.ok()) {
    state->FinishRestore(now);
  }
  return status;
}

}  // namespace wq
