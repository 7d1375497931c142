#include "engine/offline/import_check.h"

#include <algorithm>
#include <string>

#include "base/names.h"
#include "storage/records.h"
#include "storage/row_rules.h"
#include "wq/keys.h"
#include "wq/limiter.h"

namespace wq {
namespace {

using storage::CheckRow;
using storage::RowRule;

storage::FailureRecord ToRecord(const Entry& entry, const FailureInfo& failures) {
  return {.key = entry.key, .count = failures.count, .last_error = failures.last_error};
}

// All fields, whatever the state.
RowRule CheckFields(const Entry& entry) {
  RowRule broken = CheckRow(
      storage::PendingRecord{.key = entry.key, .sequence = entry.sequence, .group = entry.group});
  if (broken == RowRule::kNone) {
    broken = CheckRow(storage::DelayedRecord{
        .key = entry.key, .delay_us = entry.delay_us, .resync = entry.resync});
  }
  if (broken != RowRule::kNone || !entry.failures) return broken;
  const storage::FailureRecord failures = ToRecord(entry, *entry.failures);
  return entry.state == EntryState::kQuarantined
             ? CheckRow(storage::QuarantineRecord{.failures = failures})
             : CheckRow(failures);
}

Status CheckFailures(const Entry& entry) {
  if (!entry.failures || entry.failures->count <= storage::kMaxFailures) return {};
  return Status::InvalidArgument("key '" + EscapeKey(entry.key) + "' has " +
                                 std::to_string(entry.failures->count) + " failures, more than " +
                                 std::to_string(storage::kMaxFailures));
}

// Such a delay would end before its ready time, as one that was begun by another clock does: see
// QueueState::RestoreDelayed. Entries of a store show the begin by the clock of the ready time.
bool EndsEarly(const Entry& entry) {
  int64_t end_us = 0;
  return entry.state == EntryState::kDelayed && entry.added_at_us != 0 &&
         !__builtin_add_overflow(entry.added_at_us, entry.delay_us, &end_us) &&
         end_us < entry.ready_at_us;
}

}  // namespace

Status RefuseImported(std::string_view what, std::string_view name, RowRule broken) {
  if (broken == RowRule::kNone) return {};
  return Status::InvalidArgument(DescribeRow(what, name, broken));
}

void CompleteTimes(int64_t now_us, Entry* entry) {
  if (entry->state == EntryState::kPending && entry->added_at_us == 0) {
    entry->added_at_us = now_us;
  }
  if (entry->state == EntryState::kQuarantined && entry->quarantined_at_us == 0) {
    entry->quarantined_at_us = now_us;
  }
  if (entry->state != EntryState::kDelayed || entry->ready_at_us <= now_us) return;
  if (entry->added_at_us == 0) entry->added_at_us = now_us;
  int64_t delay_us = 0;
  if (entry->delay_us != 0 ||
      __builtin_sub_overflow(entry->ready_at_us, entry->added_at_us, &delay_us)) {
    return;
  }
  entry->delay_us = std::min<int64_t>(delay_us, kMaxDelay.count());
}

Status CheckImported(const QueueInfo& info) {
  if (Status s = CheckName("queue", info.name); !s.ok()) return s;
  return RefuseImported(
      "queue", info.name,
      CheckRow(storage::QueueStateRecord{.sequence_high_water = info.sequence_high_water,
                                         .limiter_state = info.limiter_state,
                                         .shards = info.shards}));
}

Status CheckImported(const Entry& entry) {
  if (entry.key.empty()) return Status::InvalidArgument("the key is empty");
  if (entry.state == EntryState::kFailing && !entry.failures) {
    return Status::InvalidArgument("key '" + EscapeKey(entry.key) +
                                   "' is failing without failures");
  }
  for (const Cause& cause : entry.causes.list) {
    if (Status s = CheckCause(cause.reason, cause.trace_parent); !s.ok()) return s;
  }
  if (Status s = RefuseImported("key", entry.key, CheckFields(entry)); !s.ok()) return s;
  if (Status s = CheckFailures(entry); !s.ok()) return s;
  if (!EndsEarly(entry)) return {};
  return Status::InvalidArgument("key '" + EscapeKey(entry.key) +
                                 "' is ready after its delay has ended: ready_at is later than "
                                 "added_at and delay_seconds together");
}

Status CheckImportedCursor(std::string_view name, std::string_view value) {
  if (Status s = CheckName("cursor", name); !s.ok()) return s;
  return RefuseImported("cursor", name,
                        CheckRow(storage::CursorRecord{.name = name, .value = value}));
}

}  // namespace wq
