// Reading records other than pending ones: decoding, look-ups and scans.

#include <absl/strings/escaping.h>

#include <algorithm>
#include <functional>

#include "base/causes.h"
#include "storage/field_reader.h"
#include "storage/record_decode.h"
#include "storage/record_keys.h"
#include "storage/records.h"
#include "storage/records.pb.h"
#include "storage/row_rules.h"

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
  record->count = std::min(message->count(), kMaxFailures);  // An earlier version loaded any.
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

// The views in `record` point into *value_buffer.
template <typename Message, typename Record>
Status GetNamed(const Reader& reader, Family family, QueueId queue, std::string_view name,
                std::string* value_buffer, Record* record) {
  std::string record_key;
  AppendNamedKey(queue, name, &record_key);
  Status status = reader.Get(family, record_key, value_buffer);
  Message message;
  if (status.ok()) status = Decode(record_key, *value_buffer, &message, record);
  if (status.ok()) KeepViews(record, value_buffer);
  return status;
}

// The message of a record of the family `default`. NotFound.
template <typename Message>
Status GetMessage(const Reader& reader, std::string_view key, Message* message) {
  std::string value;
  Status status = reader.Get(Family::kDefault, key, &value);
  if (status.ok() && !Parse(value, message)) status = BadRecord(Family::kDefault, key, kBadValue);
  return status;
}

// For a record that a store may lack.
Status OkIfNone(const Status& got) {
  return got.code() == StatusCode::kNotFound ? Status::Ok() : got;
}

}  // namespace

Status BadRecord(Family family, std::string_view record_key, std::string_view why) {
  return Status::Corruption("family " + std::string(kFamilyNames[static_cast<int>(family)]) +
                            ", record " + Hex(record_key) + ": " + std::string(why));
}

Status GetStore(const Reader& reader, StoreRecord* record) {
  pb::StoreRecord message;
  Status status = GetMessage(reader, kStoreKey, &message);
  *record = {message.format_version(), message.uuid(), message.created_at_us()};
  return status;
}

Status GetProcessLog(const Reader& reader, ProcessLogRecord* record) {
  pb::ProcessLogRecord message;
  Status status = GetMessage(reader, kProcessLogKey, &message);
  *record = {
      .number = message.number(), .position = message.position(), .closed = message.closed()};
  return OkIfNone(status);
}

Status GetTokens(const Reader& reader, TokensRecord* record) {
  pb::TokensRecord message;
  Status status = GetMessage(reader, kTokensKey, &message);
  *record = status.ok() ? TokensRecord{.next = message.next()} : TokensRecord();
  return OkIfNone(status);
}

Status GetReplication(const Reader& reader, ReplicationRecord* record) {
  pb::ReplicationRecord message;
  Status status = GetMessage(reader, kReplicationKey, &message);
  *record = {.epoch = message.epoch(), .sequence = message.sequence(), .seeded = message.seeded()};
  return status;
}

Status GetAhead(const Reader& reader, AheadRecord* record) {
  pb::AheadRecord message;
  Status status = GetMessage(reader, kAheadKey, &message);
  *record = {
      .epoch = message.epoch(), .sequence = message.sequence(), .mutations = message.mutations()};
  return OkIfNone(status);
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
  pb::QueueStateRecord message;
  if (Status s = GetMessage(reader, StateKey(queue), &message); !s.ok()) return s;
  *record = {.sequence_high_water = message.sequence_high_water(),
             .limiter_state = message.limiter_state(),
             .paused = message.paused(),
             .paused_until_us = message.paused_until_us(),
             .shards = message.shards(),
             .pause_us = message.pause_us(),
             .paused_at_us = message.paused_at_us()};
  KeepViews(record, value_buffer);
  return Status::Ok();
}

Status GetFailures(const Reader& reader, QueueId queue, std::string_view key,
                   std::string* value_buffer, FailureRecord* record) {
  return GetNamed<pb::FailureRecord>(reader, Family::kFailures, queue, key, value_buffer, record);
}

Status GetQuarantine(const Reader& reader, QueueId queue, std::string_view key,
                     std::string* value_buffer, QuarantineRecord* record) {
  return GetNamed<pb::QuarantineRecord>(reader, Family::kQuarantine, queue, key, value_buffer,
                                        record);
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

namespace {

Status Decode(std::string_view record_key, std::string_view value, pb::SourceRecord* message,
              SourceRecord* record) {
  if (!Parse(value, message)) return BadRecord(Family::kSources, record_key, kBadValue);
  *record = {.id = ReadBig32(record_key.substr(kQueuePrefixBytes)),
             .name = message->name(),
             .fingerprint = message->fingerprint(),
             .scope = message->scope()};
  return Status::Ok();
}

Status Decode(std::string_view record_key, std::string_view value, pb::ObjectRecord* message,
              ObjectRecord* record) {
  if (!Parse(value, message)) return BadRecord(Family::kSources, record_key, kBadValue);
  *record = {.source = ReadBig32(record_key.substr(kQueuePrefixBytes)),
             .object = record_key.substr(kSourcePrefixBytes),
             .version = message->version(),
             .fingerprint = message->fingerprint(),
             .scope = message->scope(),
             .keys = message->keys(),
             .tombstone = message->tombstone()};
  return Status::Ok();
}

}  // namespace

Status ScanSources(const Reader& reader, QueueId queue,
                   const std::function<bool(const SourceRecord&)>& visit_source,
                   const std::function<bool(const ObjectRecord&)>& visit_object) {
  const std::string begin = QueueKeyPrefix(queue);
  pb::SourceRecord source_message;
  pb::ObjectRecord object_message;
  return ScanDecoded(reader, Family::kSources, begin, PrefixEnd(begin),
                     [&](std::string_view key, std::string_view value, bool* go_on) {
                       if (key.size() < kSourcePrefixBytes) {
                         return BadRecord(Family::kSources, key, kShortKey);
                       }
                       SourceRecord source;
                       ObjectRecord object;
                       const bool of_source = key.size() == kSourcePrefixBytes;
                       Status s = of_source ? Decode(key, value, &source_message, &source)
                                            : Decode(key, value, &object_message, &object);
                       if (s.ok()) *go_on = of_source ? visit_source(source) : visit_object(object);
                       return s;
                     });
}

Status ScanObjects(const Reader& reader, QueueId queue, SourceId source, std::string_view after,
                   const std::function<bool(const ObjectRecord&)>& visit) {
  const std::string prefix(SourcePrefix(queue, source).view());
  pb::ObjectRecord message;
  // The zero byte: not `after` itself, and not the source.
  return ScanDecoded(reader, Family::kSources, prefix + std::string(after) + '\0',
                     PrefixEnd(prefix),
                     [&](std::string_view key, std::string_view value, bool* go_on) {
                       ObjectRecord object;
                       Status s = Decode(key, value, &message, &object);
                       if (s.ok()) *go_on = visit(object);
                       return s;
                     });
}

Status GetObject(const Reader& reader, QueueId queue, SourceId source, std::string_view object,
                 std::string* value_buffer, ObjectRecord* record) {
  std::string key(SourcePrefix(queue, source).view());
  key.append(object);
  Status status = reader.Get(Family::kSources, key, value_buffer);
  if (!status.ok()) return status;
  pb::ObjectRecord message;
  status = Decode(key, *value_buffer, &message, record);
  if (!status.ok()) return status;
  KeepViews(record, value_buffer);
  return status;
}

bool DecodeKeys(std::string_view bytes, std::string_view object,
                std::vector<std::string_view>* keys) {
  keys->clear();
  FieldReader fields(bytes);
  while (fields.more()) {
    const std::string_view key = fields.Bytes();
    keys->push_back(key.empty() ? object : key);
  }
  return fields.good();
}

Causes DecodeCauses(std::string_view bytes) {
  Causes causes;
  pb::Causes message;
  if (!Parse(bytes, &message)) return causes;
  causes.left_out = message.left_out();
  for (const pb::Causes::Cause& cause : message.causes()) {
    if (CheckCause(cause.reason(), cause.trace()).ok()) {
      MergeCause(cause.reason(), cause.trace(), &causes);
    }
  }
  return causes;
}

}  // namespace wq::storage
