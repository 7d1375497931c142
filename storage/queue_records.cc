#include "storage/queue_records.h"

#include <string>

#include "storage/record_keys.h"

namespace wq::storage {
namespace {

constexpr Family kOfQueues[] = {Family::kDirty,    Family::kLanes,      Family::kDelayed,
                                Family::kFailures, Family::kQuarantine, Family::kCursors};

// Not small: each batch starts with a new scan, and a scan sorts an append-only memtable.
constexpr size_t kErasesPerBatch = 100'000;
// Beside a running owner other calls wait for each batch.
constexpr size_t kBytesPerBatch = size_t{4} << 20;

Status EraseFamily(Family family, QueueId queue, const Reader& reader, const WriteBatch& write) {
  std::string begin = QueueKeyPrefix(queue);
  const std::string end = PrefixEnd(begin);
  for (;;) {
    MutationBatch batch;
    bool ended = true;
    Status s = reader.Scan(family, begin, end, [&](std::string_view key, std::string_view) {
      batch.Erase(family, key);
      if (batch.count() < kErasesPerBatch && batch.bytes() < kBytesPerBatch) return true;
      begin.assign(key).push_back('\0');  // The first key after this one.
      ended = false;
      return false;
    });
    if (!s.ok() || batch.empty()) return s;
    if (s = write(batch); !s.ok()) return s;
    if (ended) return s;
  }
}

}  // namespace

std::string_view WithoutImportSuffix(std::string_view name) {
  for (const std::string_view suffix : {kLoadingSuffix, kReplacedSuffix}) {
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  }
  return name;
}

Status HasNoRecords(const Reader& reader, QueueId queue, bool* none) {
  const std::string begin = QueueKeyPrefix(queue);
  *none = true;
  for (const Family family : kOfQueues) {
    Status s = reader.Scan(family, begin, PrefixEnd(begin),
                           [none](std::string_view, std::string_view) { return *none = false; });
    if (!s.ok()) return s;
  }
  return Status::Ok();
}

Status EraseQueueRecords(QueueId queue, const Reader& reader, const WriteBatch& write) {
  for (const Family family : kOfQueues) {
    if (Status s = EraseFamily(family, queue, reader, write); !s.ok()) return s;
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
