// Reading records other than pending ones: decoding, look-ups and scans.

#include <absl/strings/escaping.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/causes.h"
#include "storage/record_decode.h"
#include "storage/record_keys.h"
#include "storage/records.h"
#include "storage/records.pb.h"

namespace wq::storage {
namespace {

// A key is any bytes, so a message shows it in hex; its beginning is enough to find it.
std::string Hex(std::string_view bytes) {
  constexpr size_t kShown = 96;
  const size_t shown = std::min(kShown, bytes.size());
  return "0x" + absl::BytesToHexString({bytes.data(), shown}) + (shown < bytes.size() ? "..." : "");
}

// The views that a decoder puts in `record` point into `record_key` and `message`.

Status Decode(std::string_view record_key, std::string_view value, pb::DelayedRecord* message,
              DelayedRecord* record) {
  if (record_key.size() <= kDelayedPrefixBytes) {
    return BadRecord(Family::kDelayed, record_key, kShortKey);
  }
  if (!Parse(value, message)) return BadRecord(Family::kDelayed, record_key, kBadValue);
  record->key = record_key.substr(kDelayedPrefixBytes);
  record->ready_at_us = TimeOfCode(ReadBig64(record_key.substr(kQueuePrefixBytes)));
  record->delay_us = message->delay_us();
  record->added_at_us = message->added_at_us();
  record->lane = message->lane();
  record->group = message->group();
  record->causes = message->causes();
  record->debounced = message->debounced();
  record->resync = message->resync();
  return Status::Ok();
}

// FailureRecord, or QuarantineRecord, which has its fields too.
template <typename Message>
Status DecodeFailures(Family family, std::string_view record_key, std::string_view value,
                      Message* message, FailureRecord* record) {
  if (record_key.size() <= kQueuePrefixBytes) return BadRecord(family, record_key, kShortKey);
  if (!Parse(value, message)) return BadRecord(family, record_key, kBadValue);
  record->key = record_key.substr(kQueuePrefixBytes);
  record->count = message->count();
  record->first_at_us = message->first_at_us();
  record->last_at_us = message->last_at_us();
  record->last_error = message->last_error();
  return Status::Ok();
}

Status Decode(std::string_view record_key, std::string_view value, pb::FailureRecord* message,
              FailureRecord* record) {
  return DecodeFailures(Family::kFailures, record_key, value, message, record);
}

Status Decode(std::string_view record_key, std::string_view value, pb::QuarantineRecord* message,
              QuarantineRecord* record) {
  Status status =
      DecodeFailures(Family::kQuarantine, record_key, value, message, &record->failures);
  if (!status.ok()) return status;
  record->quarantined_at_us = message->quarantined_at_us();
  record->lane = message->lane();
  record->group = message->group();
  return status;
}

// All records of a queue in a family whose keys begin with the queue.
template <typename Message, typename Record>
Status ScanFamily(const Reader& reader, Family family, QueueId queue,
                  const std::function<bool(const Record&)>& visit) {
  const std::string begin = QueueKeyPrefix(queue);
  Message message;
  return ScanDecoded(reader, family, begin, PrefixEnd(begin),
                     [&](std::string_view key, std::string_view value, bool* go_on) {
                       Record record;
                       Status decoded = Decode(key, value, &message, &record);
                       if (decoded.ok()) *go_on = visit(record);
                       return decoded;
                     });
}

// The views in `record` point into `message`, except those that point into the record's key.
template <typename Message, typename Record>
Status GetNamed(const Reader& reader, Family family, QueueId queue, std::string_view name,
                std::string* value_buffer, Message* message, Record* record) {
  std::string record_key;
  AppendNamedKey(queue, name, &record_key);
  Status status = reader.Get(family, record_key, value_buffer);
  if (!status.ok()) return status;
  return Decode(record_key, *value_buffer, message, record);
}

}  // namespace

Status BadRecord(Family family, std::string_view record_key, std::string_view why) {
  return Status::Corruption("family " + std::string(kFamilyNames[static_cast<int>(family)]) +
                            ", record " + Hex(record_key) + ": " + std::string(why));
}

Status GetStore(const Reader& reader, StoreRecord* record) {
  std::string value;
  Status status = reader.Get(Family::kDefault, kStoreKey, &value);
  if (!status.ok()) return status;
  pb::StoreRecord message;
  if (!Parse(value, &message)) return BadRecord(Family::kDefault, kStoreKey, kBadValue);
  record->format_version = message.format_version();
  record->uuid = message.uuid();
  record->created_at_us = message.created_at_us();
  return Status::Ok();
}

Status GetProcessLog(const Reader& reader, ProcessLogRecord* record) {
  *record = {};
  std::string value;
  Status status = reader.Get(Family::kDefault, kProcessLogKey, &value);
  if (status.code() == StatusCode::kNotFound) return Status::Ok();
  if (!status.ok()) return status;
  return DecodeProcessLog(value, record) ? status
                                         : BadRecord(Family::kDefault, kProcessLogKey, kBadValue);
}

bool DecodeProcessLog(std::string_view value, ProcessLogRecord* record) {
  pb::ProcessLogRecord message;
  if (!Parse(value, &message)) return false;
  *record = {
      .number = message.number(), .position = message.position(), .closed = message.closed()};
  return true;
}

Status GetTokens(const Reader& reader, TokensRecord* record) {
  *record = {};
  std::string value;
  Status status = reader.Get(Family::kDefault, kTokensKey, &value);
  if (status.code() == StatusCode::kNotFound) return Status::Ok();
  if (!status.ok()) return status;
  pb::TokensRecord message;
  if (!Parse(value, &message)) return BadRecord(Family::kDefault, kTokensKey, kBadValue);
  record->next = message.next();
  return status;
}

Status GetReplication(const Reader& reader, ReplicationRecord* record) {
  *record = {};
  std::string value;
  Status status = reader.Get(Family::kDefault, kReplicationKey, &value);
  if (!status.ok()) return status;
  pb::ReplicationRecord message;
  if (!Parse(value, &message)) return BadRecord(Family::kDefault, kReplicationKey, kBadValue);
  *record = {.epoch = message.epoch(), .sequence = message.sequence(), .seeded = message.seeded()};
  return status;
}

Status GetAhead(const Reader& reader, AheadRecord* record) {
  *record = {};
  std::string value;
  Status status = reader.Get(Family::kDefault, kAheadKey, &value);
  if (status.code() == StatusCode::kNotFound) return Status::Ok();
  if (!status.ok()) return status;
  pb::AheadRecord message;
  if (!Parse(value, &message)) return BadRecord(Family::kDefault, kAheadKey, kBadValue);
  *record = {
      .epoch = message.epoch(), .sequence = message.sequence(), .mutations = message.mutations()};
  return status;
}

Status EndReplica(const Reader& reader, MutationBatch* batch) {
  AheadRecord ahead;
  Status status = GetAhead(reader, &ahead);
  if (!status.ok()) return status;
  if (!batch->AppendMutations(ahead.mutations)) {
    return BadRecord(Family::kDefault, kAheadKey, kBadValue);
  }
  EraseAhead(batch);
  EraseReplication(batch);
  return status;
}

Status GetQueueState(const Reader& reader, QueueId queue, std::string* value_buffer,
                     QueueStateRecord* record) {
  const std::string key = StateKey(queue);
  Status status = reader.Get(Family::kDefault, key, value_buffer);
  if (!status.ok()) return status;
  pb::QueueStateRecord message;
  if (!Parse(*value_buffer, &message)) return BadRecord(Family::kDefault, key, kBadValue);
  *value_buffer = message.limiter_state();
  record->sequence_high_water = message.sequence_high_water();
  record->limiter_state = *value_buffer;
  record->paused = message.paused();
  record->paused_until_us = message.paused_until_us();
  record->shards = message.shards();
  record->pause_us = message.pause_us();
  record->paused_at_us = message.paused_at_us();
  return Status::Ok();
}

Status GetFailures(const Reader& reader, QueueId queue, std::string_view key,
                   std::string* value_buffer, FailureRecord* record) {
  pb::FailureRecord message;
  Status status = GetNamed(reader, Family::kFailures, queue, key, value_buffer, &message, record);
  if (!status.ok()) return status;
  *value_buffer = message.last_error();
  record->key = key;
  record->last_error = *value_buffer;
  return status;
}

Status GetQuarantine(const Reader& reader, QueueId queue, std::string_view key,
                     std::string* value_buffer, QuarantineRecord* record) {
  pb::QuarantineRecord message;
  Status status = GetNamed(reader, Family::kQuarantine, queue, key, value_buffer, &message, record);
  if (!status.ok()) return status;
  *value_buffer = message.last_error() + message.group();
  record->failures.key = key;
  record->failures.last_error =
      std::string_view(*value_buffer).substr(0, message.last_error().size());
  record->group = std::string_view(*value_buffer).substr(message.last_error().size());
  return status;
}

Status ScanQueues(const Reader& reader, const std::function<bool(const QueueRecord&)>& visit) {
  return ScanDecoded(reader, Family::kDefault, kQueuePrefix, PrefixEnd(kQueuePrefix),
                     [&](std::string_view key, std::string_view value, bool* go_on) {
                       pb::QueueRecord message;
                       if (!Parse(value, &message)) {
                         return BadRecord(Family::kDefault, key, kBadValue);
                       }
                       *go_on = visit({std::string(key.substr(kQueuePrefix.size())), message.id(),
                                       message.created_at_us()});
                       return Status::Ok();
                     });
}

Status ScanDelayed(const Reader& reader, QueueId queue,
                   const std::function<bool(const DelayedRecord&)>& visit) {
  return ScanFamily<pb::DelayedRecord>(reader, Family::kDelayed, queue, visit);
}

Status ScanFailures(const Reader& reader, QueueId queue,
                    const std::function<bool(const FailureRecord&)>& visit) {
  return ScanFamily<pb::FailureRecord>(reader, Family::kFailures, queue, visit);
}

Status ScanQuarantine(const Reader& reader, QueueId queue,
                      const std::function<bool(const QuarantineRecord&)>& visit) {
  return ScanFamily<pb::QuarantineRecord>(reader, Family::kQuarantine, queue, visit);
}

Status ScanCursors(const Reader& reader, QueueId queue,
                   const std::function<bool(const CursorRecord&)>& visit) {
  const std::string begin = QueueKeyPrefix(queue);
  return ScanDecoded(reader, Family::kCursors, begin, PrefixEnd(begin),
                     [&](std::string_view key, std::string_view value, bool* go_on) {
                       if (key.size() <= kQueuePrefixBytes) {
                         return BadRecord(Family::kCursors, key, kShortKey);
                       }
                       *go_on = visit({key.substr(kQueuePrefixBytes), value});
                       return Status::Ok();
                     });
}

Causes DecodeCauses(std::string_view bytes) {
  Causes causes;
  pb::Causes message;
  if (bytes.size() > INT_MAX ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return causes;
  }
  causes.left_out = message.left_out();
  for (const pb::Causes::Cause& cause : message.causes()) {
    if (CheckCause(cause.reason(), cause.trace()).ok()) {
      MergeCause(cause.reason(), cause.trace(), &causes);
    }
  }
  return causes;
}

}  // namespace wq::storage
