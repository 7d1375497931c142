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
// fdatasync serves them all. At its end those are woken whose batches it covered, and one more, if there
// is one, who writes next: so there is always somebody to write for those who wait. What nobody
// waits for is written by a background thread: at once if urgent, else after flush_interval.
//
// After a failed write its outcome on disk is unknown. Every Wait for something after it returns
// NotDurable, and what is appended is dropped, so the disk keeps a prefix: until somebody (see
// failure_recovery.h) has made an image of all memory, and WriteImage has put it on the disk.
//
// Threading: thread-safe. Append never blocks on I/O; its lock is the last one that is taken.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <thread>

#include "base/mutex.h"
#include "engine/commit/open_batch.h"
#include "engine/commit/wait_queue.h"
#include "engine/state/position.h"
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
    // Called by the background thread after a failure, holding no lock; returns true once the journal is
    // healthy again, or false to be called no more. Null: a failure is final.
    std::function<bool()> recover = nullptr;
    // Called by the background thread after an Announce, holding no lock: appends what was announced.
    std::function<void()> collect = nullptr;
  };

  // `storage` is borrowed.
  Journal(storage::Storage* storage, const Options& options);
  ~Journal();  // Stops if Stop was not called.
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // The position of the batch: greater than every one before; or, if the batch takes back what is not
  // being written yet (RowChange), the present end.
  // REQUIRES: the batch is not empty; Wait or Kick is called afterwards, outside the queue's lock.
  Position Append(const storage::MutationBatch& batch, Urgency urgency,
                  const RowChange& change = {});

  // Somebody has something to append, and leaves that to Options::collect. Not under a queue's lock.
  // A collect that ends after this call sees what was stored before it, sequentially consistent or under a
  // lock that such a store was made under.
  void Announce() {
    if (!announced_) {
      AnnounceSlow();
    }
  }

  // Whether an Append has to be followed by a Wait at kAsync, too: it failed, or too much is open.
  bool MustWait() const { return must_check_.load(std::memory_order_relaxed); }

  // Returns when everything up to `position` is as durable as asked for. At kAsync that is at once,
  // unless more than max_batch_bytes are open. Blocks: for one or two writes.
  Status Wait(Position position, Durability durability);

  // Wakes the background thread if an Append found it asleep. Not done by Append itself, so that no
  // system call is made under a queue's lock.
  void WakeWriter();

  // Whether a Kick is needed.
  bool MustWakeWriter() const { return must_wake_.load(std::memory_order_relaxed); }

  // Wait for the present end.
  Status Flush(Durability durability);

  // Ok, or the failure since which nothing is durable.
  Status Health() const;

  // --- Mending. REQUIRES: a write has failed; called from Options::mend only. ---

  // From now on what is appended is kept, to be written behind an image. Calls go on returning
  // NotDurable, but wait if more than max_batch_bytes are open.
  void BeginImage();
  // Writes and syncs `image`, and what was appended since BeginImage behind it, in one batch. The image
  // holds the effects of everything before BeginImage, and may hold some that came later: a batch
  // that is applied to its own effects changes nothing.
  // Ok: all that was appended so far is on the disk, and the journal is healthy. Otherwise it is as
  // failed as before.
  Status WriteImage(storage::MutationBatch* image);
  // Instead of WriteImage: there is no image.
  void DropImage();

  // Writes and syncs what is open, and ends the background thread. Nothing may be appended any
  // more, and `mend` must return soon.
  Status Stop();

 private:
  void WriteLoop();
  void Collect() WQ_REQUIRES(mu_);
  // A write of in_flight_, which is this thread's until EndWrite.
  struct Flight {
    Position end;
    bool sync;
  };
  Flight BeginWrite() WQ_REQUIRES(mu_);
  // Ok: all up to the end of the flight is written, and synced if that was wanted.
  Status WriteInFlight(Flight flight) WQ_EXCLUDES(mu_);
  // What a write has come to: everything up to `end` is on disk, or `status` is a failure. Whom it
  // concerns is to be notified outside the lock.
  WaitQueue::Woken EndWrite(const Status& status, Position end, bool sync) WQ_REQUIRES(mu_);
  void AwaitRecovery() WQ_REQUIRES(mu_);
  void DropOpen() WQ_REQUIRES(mu_);  // What is open is not to be written.
  bool Full() const WQ_REQUIRES(mu_) { return open_.bytes() > options_.max_batch_bytes; }
  void AnnounceSlow() WQ_EXCLUDES(mu_);
  Status WaitSlow(Position position, Durability durability);
  bool GatheredMeanwhile(Position position, bool power);

  storage::Storage* const storage_;
  const Options options_;

  // Copies of what is under mu_, for the calls that have nothing to wait for.
  std::atomic<Position> written_seen_{0};
  std::atomic<Position> synced_seen_{0};
  std::atomic<int> waiting_{0};          // Calls of WaitSlow under way.
  std::atomic<bool> must_check_{false};  // failed, or more than max_batch_bytes are open.
  std::atomic<bool> announced_{false};   // Since the last collect began. Set under mu_.
  std::atomic<bool> must_wake_{false};   // The background thread should be woken.

  mutable Mutex mu_;
  WaitQueue wait_queue_ WQ_GUARDED_BY(mu_);  // Calls of Wait during somebody else's write.
  CondVar done_cv_;                          // A write ended; for the background thread.
  CondVar writer_cv_;                        // There is something for the background thread.
  OpenBatch open_ WQ_GUARDED_BY(mu_);        // Appended, not being written yet.
  // Being written. Touched without mu_ by the one thread that set writing_.
  OpenBatch in_flight_;
  bool writing_ WQ_GUARDED_BY(mu_) = false;
  Position appended_ WQ_GUARDED_BY(mu_) = 0;     // The end of open_.
  Position written_ WQ_GUARDED_BY(mu_) = 0;      // Survives a kill up to here. <= appended_
  Position synced_ WQ_GUARDED_BY(mu_) = 0;       // Survives a power cut up to here. <= written_
  Position sync_wanted_ WQ_GUARDED_BY(mu_) = 0;  // Somebody waits for synced_ to get here.
  bool urgent_ WQ_GUARDED_BY(mu_) = false;       // open_ holds something urgent, so some.
  bool stopping_ WQ_GUARDED_BY(mu_) = false;
  enum class Sleep : uint8_t { kAwake, kDozing, kAsleep };  // Dozing: until flush_interval is over.
  Sleep writer_sleep_ WQ_GUARDED_BY(mu_) = Sleep::kAwake;
  Status failed_ WQ_GUARDED_BY(mu_);         // The failure since which nothing is durable.
  bool imaging_ WQ_GUARDED_BY(mu_) = false;  // From BeginImage to its end. Implies a failure.
  bool recovers_ WQ_GUARDED_BY(mu_);         // options_.recover is to be called after a failure.

  std::thread writer_;  // Last: it uses all of the above.
};

}  // namespace wq
