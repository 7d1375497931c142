// Writing records: encodes them and appends their mutations to a batch.

#include <google/protobuf/io/coded_stream.h>

#include "base/check.h"
#include "storage/record_keys.h"
#include "storage/records.h"
#include "storage/records.pb.h"

namespace wq::storage {
namespace {

// A value of integers only, in Protobuf's encoding, by Protobuf's low-level functions: every call
// writes records of pending or delayed keys, and a message would double the cost of a record.
class SmallValue {
 public:
  // A field of type uint64 or int64. 0 is left out.
  template <typename Integer>
  void Add(int field, Integer value) {
    if (value == 0) return;
    WQ_CHECK(end_ + kFieldBytes <= bytes_ + sizeof bytes_, "integers have outgrown their buffer");
    using google::protobuf::io::CodedOutputStream;
    end_ = CodedOutputStream::WriteTagToArray(static_cast<uint32_t>(field) << 3, end_);
    end_ = CodedOutputStream::WriteVarint64ToArray(static_cast<uint64_t>(value), end_);
  }
  // A field of type sint32.
  void AddZigZag(int field, int32_t value) {
    const auto doubled = static_cast<uint32_t>(value) << 1;
    Add(field, uint64_t{value < 0 ? ~doubled : doubled});
  }
  std::string_view view() const {
    return {reinterpret_cast<const char*>(bytes_), static_cast<size_t>(end_ - bytes_)};
  }

 private:
  static constexpr size_t kFieldBytes = 1 + 10;  // A tag, and the longest varint.
  uint8_t bytes_[4 * kFieldBytes];               // No record has more fields.
  uint8_t* end_ = bytes_;
};

// For messages with bytes of the caller. The value's buffer is reused, and callers reuse the
// message: so a record costs no allocation. These functions run under a queue's lock.
template <typename Message>
void PutLarge(Family family, MutationBatch::JoinedKey key, const Message& message,
              MutationBatch* batch) {
  thread_local std::string value;
  value.resize(message.ByteSizeLong());
  message.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(value.data()));
  batch->Put(family, key, value);
}

void Fill(const PendingRecord& record, pb::PendingRecord* message) {
  message->set_sequence(record.sequence);
  message->set_added_at_us(record.added_at_us);
}
void Fill(const PendingRecord& record, SmallValue* value) {
  value->Add(pb::PendingRecord::kSequenceFieldNumber, record.sequence);
  value->Add(pb::PendingRecord::kAddedAtUsFieldNumber, record.added_at_us);
}

void Fill(const DelayedRecord& record, pb::DelayedRecord* message) {
  message->set_delay_us(record.delay_us);
  message->set_added_at_us(record.added_at_us);
  message->set_lane(record.lane);
  message->set_debounced(record.debounced);
  message->set_resync(record.resync);
}
void Fill(const DelayedRecord& record, SmallValue* value) {
  value->Add(pb::DelayedRecord::kDelayUsFieldNumber, record.delay_us);
  value->Add(pb::DelayedRecord::kAddedAtUsFieldNumber, record.added_at_us);
  value->AddZigZag(pb::DelayedRecord::kLaneFieldNumber, record.lane);
  value->Add(pb::DelayedRecord::kDebouncedFieldNumber, uint64_t{record.debounced});
  value->Add(pb::DelayedRecord::kResyncFieldNumber, uint64_t{record.resync});
}

template <typename Message>  // FailureRecord, or QuarantineRecord, which has its fields too.
void FillFailures(const FailureRecord& record, Message* message) {
  message->set_count(record.count);
  message->set_first_at_us(record.first_at_us);
  message->set_last_at_us(record.last_at_us);
  message->mutable_last_error()->assign(record.last_error);
}

// Most records have no bytes beside the key.
template <typename Message, typename Record>
void PutMaybeSmall(Family family, const KeyPrefix& prefix, const Record& record,
                   MutationBatch* batch) {
  const MutationBatch::JoinedKey key = {prefix.view(), record.key};
  if (record.group.empty() && record.causes.empty()) {
    SmallValue value;
    Fill(record, &value);
    batch->Put(family, key, value.view());
    return;
  }
  thread_local Message message;
  Fill(record, &message);
  message.mutable_group()->assign(record.group);
  message.mutable_causes()->assign(record.causes);
  PutLarge(family, key, message, batch);
}

}  // namespace

void PutStore(const StoreRecord& record, MutationBatch* batch) {
  pb::StoreRecord message;
  message.set_format_version(record.format_version);
  message.set_uuid(record.uuid);
  message.set_created_at_us(record.created_at_us);
  batch->Put(Family::kDefault, kStoreKey, message.SerializeAsString());
}

void PutProcessLog(const ProcessLogRecord& record, MutationBatch* batch) {
  SmallValue value;
  value.Add(pb::ProcessLogRecord::kNumberFieldNumber, record.number);
  value.Add(pb::ProcessLogRecord::kPositionFieldNumber, record.position);
  value.Add(pb::ProcessLogRecord::kClosedFieldNumber, uint64_t{record.closed});
  batch->Put(Family::kDefault, kProcessLogKey, value.view());
}

void PutTokens(const TokensRecord& record, MutationBatch* batch) {
  SmallValue value;
  value.Add(pb::TokensRecord::kNextFieldNumber, record.next);
  batch->Put(Family::kDefault, kTokensKey, value.view());
}

void PutReplication(const ReplicationRecord& record, MutationBatch* batch) {
  SmallValue value;
  value.Add(pb::ReplicationRecord::kEpochFieldNumber, record.epoch);
  value.Add(pb::ReplicationRecord::kSequenceFieldNumber, record.sequence);
  value.Add(pb::ReplicationRecord::kSeededFieldNumber, uint64_t{record.seeded});
  batch->Put(Family::kDefault, kReplicationKey, value.view());
}

void PutAhead(const AheadRecord& record, MutationBatch* batch) {
  pb::AheadRecord message;
  message.set_epoch(record.epoch);
  message.set_sequence(record.sequence);
  message.set_mutations(record.mutations);
  batch->Put(Family::kDefault, kAheadKey, message.SerializeAsString());
}

void EraseAhead(MutationBatch* batch) { batch->Erase(Family::kDefault, kAheadKey); }

void EraseReplication(MutationBatch* batch) { batch->Erase(Family::kDefault, kReplicationKey); }

bool IsOfCopy(Family family, std::string_view key) {
  return family == Family::kDefault &&
         (key == kStoreKey || key == kProcessLogKey || key == kReplicationKey || key == kAheadKey);
}

void PutQueue(const QueueRecord& record, MutationBatch* batch) {
  pb::QueueRecord message;
  message.set_id(record.id);
  message.set_created_at_us(record.created_at_us);
  batch->Put(Family::kDefault, MutationBatch::JoinedKey{kQueuePrefix, record.name},
             message.SerializeAsString());
}

void PutQueueState(QueueId queue, const QueueStateRecord& record, MutationBatch* batch) {
  thread_local pb::QueueStateRecord message;
  message.set_sequence_high_water(record.sequence_high_water);
  message.mutable_limiter_state()->assign(record.limiter_state);
  message.set_paused(record.paused);
  message.set_paused_until_us(record.paused_until_us);
  message.set_shards(record.shards);
  message.set_pause_us(record.pause_us);
  message.set_paused_at_us(record.paused_at_us);
  PutLarge(Family::kDefault, {kStatePrefix, KeyPrefix(queue).view()}, message, batch);
}

void PutPending(QueueId queue, const PendingRecord& record, MutationBatch* batch) {
  PutMaybeSmall<pb::PendingRecord>(PendingFamily(record.lane),
                                   PendingPrefix(queue, record.lane, record.sequence), record,
                                   batch);
}

void ErasePending(QueueId queue, Lane lane, uint64_t sequence, std::string_view key,
                  MutationBatch* batch) {
  const KeyPrefix prefix = PendingPrefix(queue, lane, sequence);
  batch->Erase(PendingFamily(lane), MutationBatch::JoinedKey{prefix.view(), key});
}

void PutDelayed(QueueId queue, const DelayedRecord& record, MutationBatch* batch) {
  PutMaybeSmall<pb::DelayedRecord>(Family::kDelayed, DelayedPrefix(queue, record.ready_at_us),
                                   record, batch);
}

void EraseDelayed(QueueId queue, int64_t ready_at_us, std::string_view key, MutationBatch* batch) {
  const KeyPrefix prefix = DelayedPrefix(queue, ready_at_us);
  batch->Erase(Family::kDelayed, MutationBatch::JoinedKey{prefix.view(), key});
}

void PutFailures(QueueId queue, const FailureRecord& record, MutationBatch* batch) {
  thread_local pb::FailureRecord message;
  FillFailures(record, &message);
  PutLarge(Family::kFailures, {NamedPrefix(queue).view(), record.key}, message, batch);
}

void EraseFailures(QueueId queue, std::string_view key, MutationBatch* batch) {
  batch->Erase(Family::kFailures, MutationBatch::JoinedKey{NamedPrefix(queue).view(), key});
}

void PutQuarantine(QueueId queue, const QuarantineRecord& record, MutationBatch* batch) {
  thread_local pb::QuarantineRecord message;
  FillFailures(record.failures, &message);
  message.set_quarantined_at_us(record.quarantined_at_us);
  message.set_lane(record.lane);
  message.mutable_group()->assign(record.group);
  PutLarge(Family::kQuarantine, {NamedPrefix(queue).view(), record.failures.key}, message, batch);
}

void EraseQuarantine(QueueId queue, std::string_view key, MutationBatch* batch) {
  batch->Erase(Family::kQuarantine, MutationBatch::JoinedKey{NamedPrefix(queue).view(), key});
}

void PutCursor(QueueId queue, const CursorRecord& record, MutationBatch* batch) {
  batch->Put(Family::kCursors, MutationBatch::JoinedKey{NamedPrefix(queue).view(), record.name},
             record.value);
}

void EraseCursor(QueueId queue, std::string_view name, MutationBatch* batch) {
  batch->Erase(Family::kCursors, MutationBatch::JoinedKey{NamedPrefix(queue).view(), name});
}

void PutSource(QueueId queue, const SourceRecord& record, MutationBatch* batch) {
  pb::SourceRecord message;
  message.mutable_name()->assign(record.name);
  message.set_fingerprint(record.fingerprint);
  message.set_scope(record.scope);
  batch->Put(Family::kSources, SourcePrefix(queue, record.id).view(), message.SerializeAsString());
}

void EraseSource(QueueId queue, SourceId source, MutationBatch* batch) {
  batch->Erase(Family::kSources, SourcePrefix(queue, source).view());
}

void PutObject(QueueId queue, const ObjectRecord& record, MutationBatch* batch) {
  thread_local pb::ObjectRecord message;
  message.mutable_version()->assign(record.version);
  message.set_fingerprint(record.fingerprint);
  message.set_scope(record.scope);
  message.mutable_keys()->assign(record.keys);
  message.mutable_tombstone()->assign(record.tombstone);
  const KeyPrefix prefix = SourcePrefix(queue, record.source);
  PutLarge(Family::kSources, {prefix.view(), record.object}, message, batch);
}

void EraseObject(QueueId queue, SourceId source, std::string_view object, MutationBatch* batch) {
  const KeyPrefix prefix = SourcePrefix(queue, source);
  batch->Erase(Family::kSources, MutationBatch::JoinedKey{prefix.view(), object});
}

std::string EncodeKeys(std::span<const std::string_view> keys, std::string_view object) {
  std::string bytes;
  for (const std::string_view key : keys) {
    size_t size = key == object ? 0 : key.size();
    for (; size >= 0x80; size >>= 7) bytes.push_back(static_cast<char>(size | 0x80));
    bytes.push_back(static_cast<char>(size));
    if (key != object) bytes.append(key);
  }
  return bytes;
}

std::string EncodeCauses(const Causes& causes) {
  pb::Causes message;
  for (const Cause& cause : causes.list) {
    pb::Causes::Cause* const added = message.add_causes();
    added->set_reason(cause.reason);
    added->set_trace(cause.trace_parent);
  }
  message.set_left_out(causes.left_out);
  return message.SerializeAsString();
}

}  // namespace wq::storage
