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
  pb::QueueStateRecord message;
  message.set_sequence_high_water(record.sequence_high_water);
  std::string& key = EmptyKeyBuffer();
  key.append(kStatePrefix);
  AppendBig32(queue, &key);
  PutSmall(Family::kDefault, key, message, batch);
}

void PutPending(QueueId queue, const PendingRecord& record, MutationBatch* batch) {
  pb::PendingRecord message;
  message.set_sequence(record.sequence);
  message.set_added_at_us(record.added_at_us);
  std::string& key = EmptyKeyBuffer();
  AppendPendingKey(queue, record.lane, record.sequence, record.key, &key);
  PutSmall(PendingFamily(record.lane), key, message, batch);
}

void ErasePending(QueueId queue, Lane lane, uint64_t sequence, std::string_view key,
                  MutationBatch* batch) {
  std::string& record_key = EmptyKeyBuffer();
  AppendPendingKey(queue, lane, sequence, key, &record_key);
  batch->Erase(PendingFamily(lane), record_key);
}

void PutDelayed(QueueId queue, const DelayedRecord& record, MutationBatch* batch) {
  pb::DelayedRecord message;
  message.set_delay_us(record.delay_us);
  message.set_added_at_us(record.added_at_us);
  message.set_lane(record.lane);
  std::string& key = EmptyKeyBuffer();
  AppendDelayedKey(queue, record.ready_at_us, record.key, &key);
  PutSmall(Family::kDelayed, key, message, batch);
}

void EraseDelayed(QueueId queue, int64_t ready_at_us, std::string_view key, MutationBatch* batch) {
  std::string& record_key = EmptyKeyBuffer();
  AppendDelayedKey(queue, ready_at_us, key, &record_key);
  batch->Erase(Family::kDelayed, record_key);
}

void PutFailures(QueueId queue, const FailureRecord& record, MutationBatch* batch) {
  // Both are reused for the sake of their memory: the error text.
  thread_local pb::FailureRecord message;
  thread_local std::string value;
  message.set_count(record.count);
  message.set_first_at_us(record.first_at_us);
  message.set_last_at_us(record.last_at_us);
  message.set_last_error(record.last_error.data(), record.last_error.size());
  value.resize(message.ByteSizeLong());
  message.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(value.data()));
  std::string& key = EmptyKeyBuffer();
  AppendFailureKey(queue, record.key, &key);
  batch->Put(Family::kFailures, key, value);
}

void EraseFailures(QueueId queue, std::string_view key, MutationBatch* batch) {
  std::string& record_key = EmptyKeyBuffer();
  AppendFailureKey(queue, key, &record_key);
  batch->Erase(Family::kFailures, record_key);
}

}  // namespace wq::storage
