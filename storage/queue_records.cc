#include "storage/queue_records.h"

#include <string>

#include "storage/difference.h"
#include "storage/record_keys.h"

namespace wq::storage {
namespace {

// Beside a running owner other calls wait for each batch.
constexpr size_t kBytesPerBatch = size_t{128} << 10;

// In one scan, which sorts an append-only memtable when it begins.
Status EraseRange(const Range& range, const Reader& reader, const WriteBatch& write) {
  MutationBatch batch;
  Status written;
  const auto visit = [&](std::string_view key, std::string_view) {
    batch.Erase(range.family, key);
    if (batch.bytes() >= kBytesPerBatch) {
      written = write(batch);
      batch.Clear();
    }
    return written.ok();
  };
  Status s = reader.Scan(range.family, range.begin, range.end, visit);
  if (!written.ok()) return written;
  return s.ok() && !batch.empty() ? write(batch) : s;
}

}  // namespace

std::string_view WithoutImportSuffix(std::string_view name) {
  for (const std::string_view suffix : {kLoadingSuffix, kReplacedSuffix}) {
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  }
  return name;
}

Status HasNoRecords(const Reader& reader, QueueId queue, bool* none) {
  *none = true;
  for (const Range& range : RecordsOfQueue(queue)) {
    Status s = reader.Scan(range.family, range.begin, range.end,
                           [none](std::string_view, std::string_view) { return *none = false; });
    if (!s.ok()) return s;
  }
  return Status::Ok();
}

Status EraseQueueRecords(QueueId queue, const Reader& reader, const WriteBatch& write) {
  for (const Range& range : RecordsOfQueue(queue)) {
    if (Status s = EraseRange(range, reader, write); !s.ok()) return s;
  }
  return Status::Ok();
}

Status EraseQueueRecords(QueueId queue, Storage* storage) {
  return EraseQueueRecords(queue, *storage, [storage](MutationBatch& batch) {
    return storage->Write(batch, /*sync=*/false);
  });
}

void ReplaceQueue(const QueueRecord& queue, MutationBatch* batch) {
  EraseQueueName(queue.name, batch);
  PutQueue({.name = queue.name + std::string(kReplacedSuffix), .id = queue.id, .created_at_us = 0},
           batch);
}

void EraseQueueName(std::string_view name, MutationBatch* batch) {
  batch->Erase(Family::kDefault, std::string(kQueuePrefix) + std::string(name));
}

void EraseQueue(std::string_view name, QueueId queue, MutationBatch* batch) {
  EraseQueueName(name, batch);
  batch->Erase(Family::kDefault, StateKey(queue));
}

}  // namespace wq::storage
