// Journal: the commit pipeline between the queues and the storage.
//
//   Position p = journal.Append(batch, Durability::kProcess);   // With the queue's lock held.
//   Status s = journal.Wait(p, Durability::kProcess);   // After the lock is released.
//
// Where a batch is: Append copies it to the process log (storage/process_log.h), from which it
// survives a kill of the process; so a Wait at kProcess has nothing to wait for. Writes move it
// from there to the database. A store without a process log, or a batch that does not fit it, waits
// for the database at kProcess, too.
//
// Order: batches reach the disk in the order of their Append, in groups. While one group is being
// written the next one fills. So what survives a crash is a prefix of the appends, over all queues
// of the store.
//
// Which thread writes: a waiting thread that finds no write under way writes all that is open, its
// own batch included; so a lone producer needs no switch of threads. The other waiting threads, the
// followers, wait for that write, and one fdatasync serves all of them. The end of a write wakes
// the followers whose batches it covered, and one more, which writes next: so while a thread waits
// there is always one that writes. A batch that no thread waits for is written by a background
// thread within flush_interval, or as soon as much is open.
//
// The background thread dozes for flush_interval after each write before it sleeps, and sleeps only
// if nothing is left to write. So a busy producer seldom has to wake it, which would cost more than
// the Append.
//
// A storage that is replicated appends each group to its log before it writes it here, so a Wait at
// kReplicated waits for the storage, and not for a sync.
//
// Failures: the outcome of a failed write on disk is unknown. From then on every Wait for a later
// position returns NotDurable, and appended batches are dropped, so that the disk keeps a prefix.
// That ends when FailureRecovery (failure_recovery.h) has made an image of all memory and
// WriteImage has put it on the disk. Memory has no image of the rows of sources: their mutations
// from the failed write on are kept, the last one of each row, and written behind the image; and so
// are those before that the files lack.
//
// Thread-safe. Its lock is the last one that is taken, and is never held during I/O: so Append does
// not block on the disk.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <thread>

#include "absl/container/flat_hash_map.h"
#include "base/mutex.h"
#include "engine/commit/kept_rows.h"
#include "engine/commit/open_batch.h"
#include "engine/commit/wait_queue.h"
#include "engine/order/position.h"
#include "storage/records.h"
#include "storage/storage.h"
#include "wq/options.h"
#include "wq/status.h"

namespace wq {

class StoreMetrics;

class Journal {
 public:
  struct Options {
    std::chrono::milliseconds flush_interval{10};
    size_t max_batch_bytes = size_t{8} << 20;
    StoreMetrics* metrics = nullptr;  // Borrowed. Null: none.
    // Called by the background thread after a failure, without a lock. Returns true once the
    // journal is healthy again; false: it is not to be called again. Null: a failure is final.
    std::function<bool()> recover = nullptr;
  };

  // `storage` is borrowed.
  Journal(storage::Storage* storage, const Options& options);
  ~Journal();  // Stops if Stop was not called.
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Returns the position of the batch, which is greater than all earlier ones. `awaited`: what the
  // caller will Wait for; a batch that is waited for does not wake the background thread, since the
  // caller writes it.
  // REQUIRES: the batch is not empty; Wait or WakeWriter is called afterwards, outside the queue's
  // lock.
  Position Append(const storage::MutationBatch& batch, Durability awaited,
                  const RowChange& change = {}) noexcept;

  // Returns when everything up to `position` is as durable as asked for. At kAsync that is at once,
  // unless the journal has failed or is full. Blocks: for one or two writes.
  Status Wait(Position position, Durability durability) noexcept;

  // Wakes the background thread if an Append needs it and found it asleep. Append does not do that
  // itself, so that no system call is made under a queue's lock.
  void WakeWriter();

  // Waits for everything that was appended before the call. At kAsync it waits as at kProcess.
  Status Flush(Durability durability);
  // Waits until the storage has everything that was appended before the call, so that it can be
  // read there.
  Status WriteOut() { return Flush(Durability::kReplicated); }

  // Reads the rows of sources as they were last appended before the call. NotDurable, of a failed
  // journal: Get finds the row neither among what is kept nor in files that are open, or it is a
  // Scan. Blocks: for a write and a read. No thread reads during Reopen.
  class Rows final : public storage::Reader {
   public:
    explicit Rows(Journal* journal) : journal_(journal) {}
    Status Get(storage::Family family, std::string_view key, std::string* value) const override;
    Status Scan(storage::Family family, std::string_view begin, std::string_view end,
                const Visitor& visit) const override;

   private:
    Journal* const journal_;
  };

  // Ok, or the failure since which nothing is durable: NotDurable; NotOwner: the storage was cut
  // off, which is final.
  Status Health() const;

  // --- Recovery. REQUIRES: a write has failed; called from Options::recover only. ---

  // Storage::Reopen. The rows of sources that its files may lack are kept.
  Status Reopen();
  // From now on what is appended is kept, to be written behind an image. Calls still return
  // NotDurable, but wait while more than max_batch_bytes are open.
  void BeginImage();
  // Writes and syncs `image`, and behind it what was appended since BeginImage, in one batch. The
  // image has the effects of everything before BeginImage, and may have some of what came after: a
  // batch that is applied to its own effects changes nothing.
  // Ok: all that was appended is on the disk, and the journal is healthy. Otherwise the journal
  // stays failed.
  Status WriteImage(storage::MutationBatch* image);
  // Ends what BeginImage began when no image could be made.
  void DropImage();

  // Writes and syncs what is open, and ends the background thread. REQUIRES: nothing is appended
  // afterwards, and Options::recover returns soon.
  Status Stop();

  // Frees the memory of its batches. REQUIRES: Stop was called.
  void FreeMemory() WQ_EXCLUDES(mu_);

 private:
  // A write of in_flight_, which belongs to the thread that began it until EndWrite.
  struct Flight {
    Position end = 0;
    storage::LogPosition log_end = 0;  // The batches up to `end` are before it in the process log.
    bool covers_log = false;           // Something is in the process log that no write has covered.
    bool sync = false;
  };
  // What the background thread has to do without the lock.
  struct Task {
    enum class Kind : uint8_t { kStop, kRecover, kWrite };
    Kind kind;
    Flight flight = {};  // Of kWrite.
  };
  using SteadyClock = std::chrono::steady_clock;

  void WriteLoop();
  // Waits until there is a task, first for flush_interval.
  Task AwaitTask() WQ_EXCLUDES(mu_);
  // Waits until flush_interval has passed, much is open, or there is another task.
  void Doze() WQ_REQUIRES(mu_);
  void Recover() WQ_EXCLUDES(mu_);

  Flight BeginWrite() WQ_REQUIRES(mu_);
  // Ok: all up to the end of the flight is written, and synced if that was wanted.
  Status WriteInFlight(Flight flight) WQ_EXCLUDES(mu_);
  // The outcome of a write: everything up to flight.end is on disk, or `status` is a failure. The
  // returned threads are to be notified without the lock.
  WaitQueue::Woken EndWrite(const Status& status, const Flight& flight) WQ_REQUIRES(mu_);
  // Copies the batch to the process log. False: it is not there, and neither may the following ones
  // be until a write has covered it.
  bool AppendToLog(const storage::MutationBatch& batch, const RowChange& change) WQ_REQUIRES(mu_);
  // The write that takes what is open now.
  Flight NextFlight() const WQ_REQUIRES(mu_);
  void CoverLog(const Flight& flight, storage::MutationBatch* batch) const;
  // Whether a call waits for a write before it returns, at whatever durability: it bounds what is
  // open, and leaves space in the process log for the appends of other threads. A failed journal
  // does not use the log.
  bool Full() const WQ_REQUIRES(mu_) {
    return open_.bytes() > options_.max_batch_bytes ||
           (log_ != nullptr && failed_.ok() && log_->Used() > 3 * log_->capacity() / 4);
  }
  // Whether so much is open that it is written before flush_interval has passed: so a producer that
  // appends much does not have to wait for the whole of it at the end.
  bool Hurried() const WQ_REQUIRES(mu_) {
    return open_.bytes() > options_.max_batch_bytes / 8 ||
           (log_ != nullptr && log_->Used() > log_->capacity() / 2);
  }
  Status KeepUnsynced() WQ_EXCLUDES(mu_);
  Status WaitSlow(Position position, Durability durability) WQ_EXCLUDES(mu_);
  bool YieldToOthers(Position position, Reached wanted) WQ_EXCLUDES(mu_);
  Position End(Reached reached) const WQ_REQUIRES(mu_) {
    return ends_[static_cast<size_t>(reached)];
  }
  void SetEnd(Reached reached, Position end) WQ_REQUIRES(mu_);
  // End, for a call that has nothing to wait for.
  Position Seen(Reached reached) const {
    return ends_seen_[static_cast<size_t>(reached)].load(std::memory_order_acquire);
  }

  storage::Storage* const storage_;
  const Options options_;
  // Null: none. Under mu_, but for its number, and for the records of a write under way, which the
  // writing thread reads (OpenBatch::Close).
  storage::ProcessLog* const log_;

  // Copies of state under mu_, for calls that have nothing to wait for.
  std::array<std::atomic<Position>, Ends().size()> ends_seen_ = {};
  std::atomic<int> waiting_{0};          // Calls of WaitSlow under way.
  std::atomic<bool> must_check_{false};  // failed_, or Full().
  std::atomic<bool> must_wake_{false};   // WakeWriter has to notify writer_cv_.

  mutable Mutex mu_;
  WaitQueue followers_ WQ_GUARDED_BY(mu_);  // Calls of Wait during the write of another thread.
  CondVar done_cv_;                         // A write has ended; for the background thread.
  CondVar writer_cv_;                       // There is something for the background thread.
  OpenBatch open_ WQ_GUARDED_BY(mu_);       // Appended, and not being written yet.
  // Being written. Used without mu_, by the thread that has set writing_.
  OpenBatch in_flight_;
  bool writing_ WQ_GUARDED_BY(mu_) = false;
  Position appended_ WQ_GUARDED_BY(mu_) = 0;        // The end of open_.
  bool log_lacks_some_ WQ_GUARDED_BY(mu_) = false;  // The process log; of open_ and in_flight_.
  // How far everything has come, by Reached. kWritten: it is in the process log or in the storage.
  // Each is at most appended_; kSynced and kStored are at most kWritten.
  Ends ends_ WQ_GUARDED_BY(mu_) = {};
  Position sync_wanted_ WQ_GUARDED_BY(mu_) = 0;  // The greatest position waited for at kPower.
  bool stopping_ WQ_GUARDED_BY(mu_) = false;
  enum class Sleep : uint8_t { kAwake, kDozing, kAsleep };  // Dozing: see Doze.
  Sleep writer_sleep_ WQ_GUARDED_BY(mu_) = Sleep::kAwake;
  Status failed_ WQ_GUARDED_BY(mu_);         // The failure since which nothing is durable.
  bool imaging_ WQ_GUARDED_BY(mu_) = false;  // From BeginImage to its end. Implies failed_.
  bool recovers_ WQ_GUARDED_BY(mu_);         // Options::recover is to be called after a failure.
  // Of a failed journal: what was changed since, and the rows that were not synced when it failed
  // and are not in the files.
  KeptRows kept_ WQ_GUARDED_BY(mu_);

  std::shared_mutex reads_mu_;  // Held by readers of rows; alone by Reopen. Before mu_.
  bool readable_ = true;        // Under reads_mu_.
  // Under reads_mu_, by key: found before the files were closed.
  absl::flat_hash_map<std::string, std::string> unsynced_;

  std::thread writer_;  // Last: it uses all of the above.
};

}  // namespace wq
