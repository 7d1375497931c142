#include <array>

#include "storage/check.h"
#include "storage/record_keys.h"
#include "storage/records.h"
#include "storage/records.pb.h"

namespace wq::storage {
namespace {

// The key that is being built: reused, so that a record costs no allocation. These functions run
// under a queue's lock.
std::string& EmptyKeyBuffer() {
  thread_local std::string buffer;
  buffer.clear();
  return buffer;
}

// Holds every message of integers alone: at most four fields of a tag and ten bytes.
constexpr size_t kSmallMessageBytes = 64;

template <typename Message>
void PutSmall(Family family, std::string_view key, const Message& message, MutationBatch* batch) {
  std::array<uint8_t, kSmallMessageBytes> bytes;
  const size_t size = message.ByteSizeLong();
  WQ_CHECK(size <= bytes.size(), "a message of integers has outgrown its buffer");
  message.SerializeWithCachedSizesToArray(bytes.data());
  batch->Put(family, key, {reinterpret_cast<const char*>(bytes.data()), size});
}

// For messages that hold bytes of the caller. The value is reused, and so should the message be: then
// a record costs no allocation either.
template <typename Message>
void PutLarge(Family family, std::string_view key, const Message& message, MutationBatch* batch) {
  thread_local std::string value;
  value.resize(message.ByteSizeLong());
  message.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(value.data()));
  batch->Put(family, key, value);
}

void Fill(const PendingRecord& record, pb::PendingRecord* message) {
  message->set_sequence(record.sequence);
  message->set_added_at_us(record.added_at_us);
}

void Fill(const DelayedRecord& record, pb::DelayedRecord* message) {
  message->set_delay_us(record.delay_us);
  message->set_added_at_us(record.added_at_us);
  message->set_lane(record.lane);
}

template <typename Message>  // FailureRecord, or QuarantineRecord, which has its fields too.
void FillFailures(const FailureRecord& record, Message* message) {
  message->set_count(record.count);
  message->set_first_at_us(record.first_at_us);
  message->set_last_at_us(record.last_at_us);
  message->mutable_last_error()->assign(record.last_error);
}

template <typename Message, typename Record>
void PutMaybeGrouped(Family family, std::string_view key, const Record& record,
                     MutationBatch* batch) {
  if (record.group.empty()) {
    Message message;
    Fill(record, &message);
    PutSmall(family, key, message, batch);
    return;
  }
  thread_local Message message;
  Fill(record, &message);
  message.mutable_group()->assign(record.group);
  PutLarge(family, key, message, batch);
}

void EraseNamed(Family family, QueueId queue, std::string_view name, MutationBatch* batch) {
  std::string& key = EmptyKeyBuffer();
  AppendNamedKey(queue, name, &key);
  batch->Erase(family, key);
}

}  // namespace

void PutStore(const StoreRecord& record, MutationBatch* batch) {
  pb::StoreRecord message;
  message.set_format_version(record.format_version);
  message.set_uuid(record.uuid);
  message.set_created_at_us(record.created_at_us);
  batch->Put(Family::kDefault, kStoreKey, message.SerializeAsString());
}

void PutQueue(const QueueRecord& record, MutationBatch* batch) {
  pb::QueueRecord message;
  message.set_id(record.id);
  message.set_created_at_us(record.created_at_us);
  std::string& key = EmptyKeyBuffer();
  key.append(kQueuePrefix).append(record.name);
  PutSmall(Family::kDefault, key, message, batch);
}

void PutQueueState(QueueId queue, const QueueStateRecord& record, MutationBatch* batch) {
  thread_local pb::QueueStateRecord message;
  message.set_sequence_high_water(record.sequence_high_water);
  message.mutable_limiter_state()->assign(record.limiter_state);
  message.set_paused(record.paused);
  message.set_paused_until_us(record.paused_until_us);
  message.set_shards(record.shards);
  std::string& key = EmptyKeyBuffer();
  key.append(kStatePrefix);
  AppendBig32(queue, &key);
  PutLarge(Family::kDefault, key, message, batch);
}

void PutPending(QueueId queue, const PendingRecord& record, MutationBatch* batch) {
  std::string& key = EmptyKeyBuffer();
  AppendPendingKey(queue, record.lane, record.sequence, record.key, &key);
  PutMaybeGrouped<pb::PendingRecord>(PendingFamily(record.lane), key, record, batch);
}

void ErasePending(QueueId queue, Lane lane, uint64_t sequence, std::string_view key,
                  MutationBatch* batch) {
  std::string& record_key = EmptyKeyBuffer();
  AppendPendingKey(queue, lane, sequence, key, &record_key);
  batch->Erase(PendingFamily(lane), record_key);
}

void PutDelayed(QueueId queue, const DelayedRecord& record, MutationBatch* batch) {
  std::string& key = EmptyKeyBuffer();
  AppendDelayedKey(queue, record.ready_at_us, record.key, &key);
  PutMaybeGrouped<pb::DelayedRecord>(Family::kDelayed, key, record, batch);
}

void EraseDelayed(QueueId queue, int64_t ready_at_us, std::string_view key, MutationBatch* batch) {
  std::string& record_key = EmptyKeyBuffer();
  AppendDelayedKey(queue, ready_at_us, key, &record_key);
  batch->Erase(Family::kDelayed, record_key);
}

void PutFailures(QueueId queue, const FailureRecord& record, MutationBatch* batch) {
  thread_local pb::FailureRecord message;
  FillFailures(record, &message);
  std::string& key = EmptyKeyBuffer();
  AppendNamedKey(queue, record.key, &key);
  PutLarge(Family::kFailures, key, message, batch);
}

void EraseFailures(QueueId queue, std::string_view key, MutationBatch* batch) {
  EraseNamed(Family::kFailures, queue, key, batch);
}

void PutQuarantine(QueueId queue, const QuarantineRecord& record, MutationBatch* batch) {
  thread_local pb::QuarantineRecord message;
  FillFailures(record.failures, &message);
  message.set_quarantined_at_us(record.quarantined_at_us);
  message.set_lane(record.lane);
  message.mutable_group()->assign(record.group);
  std::string& key = EmptyKeyBuffer();
  AppendNamedKey(queue, record.failures.key, &key);
  PutLarge(Family::kQuarantine, key, message, batch);
}

void EraseQuarantine(QueueId queue, std::string_view key, MutationBatch* batch) {
  EraseNamed(Family::kQuarantine, queue, key, batch);
}

void PutCursor(QueueId queue, const CursorRecord& record, MutationBatch* batch) {
  std::string& key = EmptyKeyBuffer();
  AppendNamedKey(queue, record.name, &key);
  batch->Put(Family::kCursors, key, record.value);
}

void EraseCursor(QueueId queue, std::string_view name, MutationBatch* batch) {
  EraseNamed(Family::kCursors, queue, name, batch);
}

}  // namespace wq::storage
