// Journal: the commit pipeline between the queues and the storage.
//
//   // under the queue's lock:                      // after it:
//   Position p = journal.Append(batch, urgency);    Status s = journal.Wait(p,
//   Durability::kProcess);
//
// Batches reach the disk in the order of their Append, and in groups: while one group is being
// written the next one fills. So what survives a crash is a prefix of the appends, over all queues
// of the store.
//
// Who writes: whoever waits. The first waiter that finds no write under way writes all that is
// open, its own batch included, without a change of threads; the others wait for it, and one
// fdatasync serves them all. What nobody waits for is written by a background thread: at once if
// urgent, else after flush_interval.
//
// A failed write is final: its outcome on disk is unknown, and every Wait for something after it
// returns NotDurable. Nothing is written any more, so the disk keeps a prefix.
//
// Threading: thread-safe. Append never blocks on I/O; its lock is the last one that is taken.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>

#include "engine/item.h"
#include "engine/mutex.h"
#include "storage/storage.h"
#include "wq/options.h"
#include "wq/status.h"

namespace wq {

class StoreMetrics;

class Journal {
 public:
  enum class Urgency : uint8_t {
    kLazy,    // May wait for flush_interval.
    kWaited,  // Whoever appended it will Wait, and so write it.
    kUrgent,  // The background thread writes it at once.
  };

  struct Options {
    std::chrono::milliseconds flush_interval{10};
    size_t max_batch_bytes = size_t{8} << 20;
    StoreMetrics* metrics = nullptr;  // Borrowed. Null: none.
  };

  // `storage` is borrowed.
  Journal(storage::Storage* storage, const Options& options);
  ~Journal();  // Stops if Stop was not called.
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // The position of the batch: greater than every one before.
  // REQUIRES: the batch is not empty; Wait or Kick is called afterwards, outside the queue's lock.
  Position Append(const storage::MutationBatch& batch, Urgency urgency);

  // Returns when everything up to `position` is as durable as asked for. At kAsync that is at once,
  // unless more than max_batch_bytes are open. Blocks: for one or two writes.
  Status Wait(Position position, Durability durability);

  // Wakes the background thread if an Append found it asleep. Not done by Append itself, so that no
  // system call is made under a queue's lock.
  void Kick();

  // Wait for the present end.
  Status Flush(Durability durability);

  // Ok until a write fails.
  Status Health() const;

  // Writes and syncs what is open, and ends the background thread. Nothing may be appended any
  // more.
  Status Stop();

 private:
  void WriteLoop();
  void WriteOpen() WQ_REQUIRES(mu_);
  Status WaitSlow(Position position, Durability durability);

  storage::Storage* const storage_;
  const Options options_;

  // Copies of what is under mu_, for the calls that have nothing to wait for.
  std::atomic<Position> written_seen_{0};
  std::atomic<bool> must_look_{false};  // failed, or more than max_batch_bytes are open.
  std::atomic<bool> must_wake_{false};  // The background thread should be woken.

  mutable Mutex mu_;
  CondVar done_cv_;                                 // A write ended.
  CondVar writer_cv_;                               // There is something for the background thread.
  storage::MutationBatch open_ WQ_GUARDED_BY(mu_);  // Appended, not yet being written.
  // Being written. Touched without mu_ by the one thread that set writing_.
  storage::MutationBatch in_flight_;
  bool writing_ WQ_GUARDED_BY(mu_) = false;
  Position appended_ WQ_GUARDED_BY(mu_) = 0;     // The end of open_.
  Position written_ WQ_GUARDED_BY(mu_) = 0;      // Survives a kill up to here. <= appended_
  Position synced_ WQ_GUARDED_BY(mu_) = 0;       // Survives a power cut up to here. <= written_
  Position sync_wanted_ WQ_GUARDED_BY(mu_) = 0;  // Somebody waits for synced_ to get here.
  bool urgent_ WQ_GUARDED_BY(mu_) = false;       // open_ holds something urgent.
  bool stopping_ WQ_GUARDED_BY(mu_) = false;
  enum class Sleep : uint8_t { kAwake, kDozing, kAsleep };  // Dozing: until flush_interval is over.
  Sleep writer_sleep_ WQ_GUARDED_BY(mu_) = Sleep::kAwake;
  Status failed_ WQ_GUARDED_BY(mu_);  // The first failure.

  std::thread writer_;  // Last: it uses all of the above.
};

}  // namespace wq
