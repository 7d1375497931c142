#include "engine/recovery.h"

namespace wq {

Status Recover(const storage::Reader& reader, storage::QueueId id, Time now, QueueState* state) {
  storage::QueueStateRecord counters;
  Status status = storage::GetQueueState(reader, id, &counters);
  if (!status.ok() && status.code() != StatusCode::kNotFound) {  // A queue never added to has none.
    return status;
  }
  state->RestoreState(counters);

  Status bad;  // The first record that does not fit.
  const auto good = [&bad](Status s) {
    bad = std::move(s);
    return bad.ok();
  };
  status = storage::ScanPending(reader, id, [&](const storage::PendingRecord& record) {
    return good(state->RestorePending(record));
  });
  if (status.ok() && bad.ok()) {
    status = storage::ScanDelayed(reader, id, [&](const storage::DelayedRecord& record) {
      return good(state->RestoreDelayed(record, now));
    });
  }
  if (status.ok() && bad.ok()) {
    status = storage::ScanFailures(reader, id, [&](const storage::FailureRecord& record) {
      return good(state->RestoreFailures(record));
    });
  }
  if (status.ok() && bad.ok()) {
    state->FinishRestore();
  }
  return status.ok() ? bad : status;
}

}  // namespace wq
