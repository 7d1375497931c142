// ReadAhead: the records of one queue, read and decoded in a thread of its own, a little ahead of whoever
// takes them.
//
//   ReadAhead ahead(reader, id);
//   ReadAhead::Chunk chunk;
//   while (ahead.Next(&chunk)) std::visit([](const auto& records) { … }, chunk.records);
//   Status s = ahead.status();
//
// Recovery spends as long on reading records as on making items of them: so it does both at once. And since
// it sees some records ahead, it can bring what they need into the cache. The records on the way are
// bounded, to less than a MiB. A queue of few records needs no thread. Threading: thread-compatible; the reader is borrowed, and only read.
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
  // Some records of one family, in its order.
  struct Chunk {
    std::variant<std::vector<storage::QuarantineRecord>, std::vector<storage::PendingRecord>,
                 std::vector<storage::DelayedRecord>, std::vector<storage::FailureRecord>,
                 std::vector<storage::CursorRecord>>
        records;
    std::vector<char> bytes;  // What their views point to.
  };

  ReadAhead(const storage::Reader& reader, storage::QueueId id);
  ~ReadAhead();  // What was not taken is not wanted. Blocks: for the record that is being read.
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // The next chunk: first what is quarantined, then pending, delayed, failing, at last the cursors. What
  // *chunk held goes. Blocks: until there is one. False: there is no more.
  bool Next(Chunk* chunk) WQ_EXCLUDES(mu_);
  // Whether that was all. REQUIRES: Next has returned false.
  Status status() const WQ_EXCLUDES(mu_);

 private:
  // Calls put(record) for each, until it returns false.
  template <typename PutRecord>
  Status Scan(const PutRecord& put) const;
  bool ReadFew() WQ_EXCLUDES(mu_);  // False, and nothing is read: there are many.
  void ReadAll() WQ_EXCLUDES(mu_);
  void End(Status status) WQ_EXCLUDES(mu_);
  // Of the reading thread. False: no more is wanted.
  template <typename Record>
  bool Put(const Record& record) WQ_EXCLUDES(mu_);
  bool Give() WQ_EXCLUDES(mu_);

  const storage::Reader& reader_;
  const storage::QueueId id_;
  Chunk filling_;           // Of the reading thread.
  std::vector<Chunk> few_;  // All there are, if there are few. Last first.

  mutable Mutex mu_;
  CondVar cv_;                      // One thread on either side; at most one waits.
  Chunk given_ WQ_GUARDED_BY(mu_);  // On its way, if is_given_.
  bool is_given_ WQ_GUARDED_BY(mu_) = false;
  bool ended_ WQ_GUARDED_BY(mu_) = false;     // Nothing is given any more.
  bool unwanted_ WQ_GUARDED_BY(mu_) = false;  // Nothing is taken any more.
  Status status_ WQ_GUARDED_BY(mu_);          // Of the reading.

  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace wq
