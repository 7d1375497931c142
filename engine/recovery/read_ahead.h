// ReadAhead: reads and decodes the records of one queue in a thread of its own, ahead of the thread
// that uses them.
//
//   ReadAhead ahead(reader, id);
//   ReadAhead::Chunk chunk;
//   while (ahead.Next(&chunk)) std::visit([](const auto& records) { … }, chunk.records);
//   Status s = ahead.status();
//
// Recovery spends as much time on reading records as on making items of them, so it does both at
// once. And as it gets records in chunks, it can prefetch what the next ones need. The records that
// are read but not used yet are bounded: two chunks, each of at most 96 KiB of keys and other bytes
// (or of one larger record), with their structs. A queue of few records is read without a thread.
//
// Thread-compatible. The reader is borrowed and must allow reads from another thread.
#pragma once

#include <cstddef>
#include <thread>
#include <variant>
#include <vector>

#include "base/mutex.h"
#include "storage/records.h"
#include "wq/status.h"

namespace wq {

class ReadAhead {
 public:
  // Some records of one column family, in its order.
  struct Chunk {
    std::variant<std::vector<storage::QuarantineRecord>, std::vector<storage::PendingRecord>,
                 std::vector<storage::DelayedRecord>, std::vector<storage::FailureRecord>,
                 std::vector<storage::CursorRecord>, std::vector<storage::SourceRecord>,
                 std::vector<storage::ObjectRecord>>
        records;
    std::vector<char> bytes;  // The memory behind the views of the records.
  };

  ReadAhead(const storage::Reader& reader, storage::QueueId id);
  ~ReadAhead();  // Stops a scan under way. Blocks: for one record.
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // Replaces *chunk by the next one: first the chunks of quarantined keys, then those of pending,
  // delayed and failing ones, then those of cursors and of sources, each followed by its objects.
  // False: there are no more. Blocks: until a
  // chunk has been read.
  bool Next(Chunk* chunk) WQ_EXCLUDES(mu_);
  // Ok if all records were read. REQUIRES: Next has returned false.
  Status status() const WQ_EXCLUDES(mu_);

 private:
  // Calls put(record) for each record of the queue, until it returns false.
  template <typename PutRecord>
  Status Scan(const PutRecord& put) const;
  // False: the queue has more than `most` records, and none was kept.
  bool ReadFew(size_t most) WQ_EXCLUDES(mu_);
  void ReadAll() WQ_EXCLUDES(mu_);
  void End(Status status) WQ_EXCLUDES(mu_);
  // For the reading thread. False: the reading is to end.
  template <typename Record>
  bool Put(const Record& record) WQ_EXCLUDES(mu_);
  bool Give() WQ_EXCLUDES(mu_);

  const storage::Reader& reader_;
  const storage::QueueId id_;
  Chunk filling_;           // For the reading thread only.
  std::vector<Chunk> few_;  // The chunks of a queue with few records, in reverse order.

  mutable Mutex mu_;
  CondVar cv_;                      // For both threads; at most one of them waits.
  Chunk given_ WQ_GUARDED_BY(mu_);  // The next chunk, if is_given_.
  bool is_given_ WQ_GUARDED_BY(mu_) = false;
  bool ended_ WQ_GUARDED_BY(mu_) = false;     // No further chunk will be given.
  bool unwanted_ WQ_GUARDED_BY(mu_) = false;  // No further chunk will be taken.
  Status status_ WQ_GUARDED_BY(mu_);          // The outcome of the scan.

  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace wq
