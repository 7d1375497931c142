#include "engine/offline/entry_records.h"

#include <string>

#include "storage/records.h"

namespace wq {

using storage::DelayedRecord;
using storage::FailureRecord;
using storage::MutationBatch;
using storage::PendingRecord;
using storage::QuarantineRecord;
using storage::QueueId;

namespace {

FailureRecord ToRecord(std::string_view key, const FailureInfo& failures) {
  return {.key = key,
          .count = failures.count,
          .first_at_us = failures.first_at_us,
          .last_at_us = failures.last_at_us,
          .last_error = failures.last_error};
}

// By the clock of ready_at. An opening by a clock that was set back has written its own time: see
// QueueState::RestoreDelayed.
int64_t BeginOf(const DelayedRecord& record) {
  int64_t end_us = 0;
  const bool begun_anew = record.added_at_us != 0 &&
                          !__builtin_add_overflow(record.added_at_us, record.delay_us, &end_us) &&
                          end_us < record.ready_at_us;
  return begun_anew ? record.ready_at_us - record.delay_us : record.added_at_us;
}

}  // namespace

FailureInfo ToInfo(const FailureRecord& record) {
  return {record.count, record.first_at_us, record.last_at_us, std::string(record.last_error)};
}

void Fill(const PendingRecord& record, Entry* entry) {
  entry->state = EntryState::kPending;
  entry->lane = record.lane;
  entry->group.assign(record.group);
  entry->sequence = record.sequence;
  entry->added_at_us = record.added_at_us;
  entry->causes = storage::DecodeCauses(record.causes);
}

void Fill(const DelayedRecord& record, Entry* entry) {
  entry->state = EntryState::kDelayed;
  entry->lane = record.lane;
  entry->group.assign(record.group);
  entry->added_at_us = BeginOf(record);
  entry->ready_at_us = record.ready_at_us;
  entry->delay_us = record.delay_us;
  entry->debounced = record.debounced;
  entry->resync = record.resync;
  entry->causes = storage::DecodeCauses(record.causes);
}

void Fill(const QuarantineRecord& record, Entry* entry) {
  entry->state = EntryState::kQuarantined;
  entry->lane = record.lane;
  entry->group.assign(record.group);
  entry->quarantined_at_us = record.quarantined_at_us;
  entry->failures = ToInfo(record.failures);
}

void Fill(const storage::QueueStateRecord& record, QueueInfo* info) {
  info->limiter_state = record.limiter_state;
  info->paused = record.paused;
  info->paused_until_us = record.paused_until_us;
  info->pause_us = record.pause_us;
  info->paused_at_us = record.paused_at_us;
  info->shards = record.shards;
}

void PutEntry(QueueId queue, const Entry& entry, uint64_t sequence, MutationBatch* batch) {
  const std::string causes = storage::EncodeCauses(entry.causes);
  switch (entry.state) {
    case EntryState::kPending:
      PutPending(queue,
                 {.key = entry.key,
                  .lane = entry.lane,
                  .sequence = sequence,
                  .added_at_us = entry.added_at_us,
                  .group = entry.group,
                  .causes = causes},
                 batch);
      break;
    case EntryState::kDelayed:
      PutDelayed(queue,
                 {.key = entry.key,
                  .ready_at_us = entry.ready_at_us,
                  .delay_us = entry.delay_us,
                  .added_at_us = entry.added_at_us,
                  .lane = entry.lane,
                  .group = entry.group,
                  .causes = causes,
                  .debounced = entry.debounced,
                  .resync = entry.resync},
                 batch);
      break;
    case EntryState::kFailing:
      break;
    case EntryState::kQuarantined:
      PutQuarantine(queue,
                    {.failures = ToRecord(entry.key, entry.failures.value_or(FailureInfo{})),
                     .quarantined_at_us = entry.quarantined_at_us,
                     .lane = entry.lane,
                     .group = entry.group},
                    batch);
      return;
  }
  if (entry.failures) PutFailures(queue, ToRecord(entry.key, *entry.failures), batch);
}

}  // namespace wq
