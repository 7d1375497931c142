#include "engine/recovery.h"

#include <string>
#include <utility>

#include "engine/read_ahead.h"

namespace wq {
namespace {

// Calls `scan` with a visitor that hands each record to `restore`, and stops at the first bad one.
template <typename Record, typename Scan, typename Restore>
Status RestoreAll(const storage::Reader& reader, storage::QueueId id, const Scan& scan,
                  const Restore& restore) {
  Status bad;
  Status scanned = scan(reader, id, [&](const Record& record) {
    bad = restore(record);
    return bad.ok();
  });
  return scanned.ok() ? bad : scanned;
}

}  // namespace

Status Recover(const storage::Reader& reader, storage::QueueId id, Time now, QueueState* state) {
  storage::QueueStateRecord own;
  std::string buffer;
  Status status = storage::GetQueueState(reader, id, &buffer, &own);
  if (!status.ok() && status.code() != StatusCode::kNotFound) {  // A new queue has none.
    return status;
  }
  state->RestoreState(own, now);
  const ReadAhead ahead(reader);
  status = RestoreAll<storage::QuarantineRecord>(
      ahead, id, storage::ScanQuarantine,
      [state](const auto& record) { return state->RestoreQuarantine(record); });
  if (status.ok()) {
    status = RestoreAll<storage::PendingRecord>(
        ahead, id, storage::ScanPending,
        [state](const auto& record) { return state->RestorePending(record); });
  }
  if (status.ok()) {
    status = RestoreAll<storage::DelayedRecord>(
        ahead, id, storage::ScanDelayed,
        [state, now](const auto& record) { return state->RestoreDelayed(record, now); });
  }
  if (status.ok()) {
    status = RestoreAll<storage::FailureRecord>(
        ahead, id, storage::ScanFailures,
        [state](const auto& record) { return state->RestoreFailures(record); });
  }
  if (status.ok()) {
    status = RestoreAll<storage::CursorRecord>(ahead, id, storage::ScanCursors,
                                               [state](const auto& record) {
                                                 state->RestoreCursor(record);
                                                 return Status::Ok();
                                               });
  }
  if (status.ok()) {
    state->FinishRestore();
  }
  return status;
}

}  // namespace wq
