// Store::Impl::Opened: a storage, the journal and the timer over it, and the open queues; of a
// replicated store, for the length of one ownership.
//
// Locks: close_mu, then mu, then those of the queues, then the journal's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "engine/commit/failure_recovery.h"
#include "engine/commit/journal.h"
#include "engine/history/history_recorder.h"
#include "engine/metrics/metrics.h"
#include "engine/queue/timer.h"
#include "engine/replication/fence.h"
#include "engine/store/store_impl.h"
#include "storage/records.h"
#include "storage/storage.h"
#include "wq/clock.h"
#include "wq/store.h"

namespace wq {

struct Store::Impl::Opened final : FailureRecovery::Target {
  // `storage` is null for a store in memory only; `fence` for one that is not replicated.
  Opened(const StoreOptions& store_options, std::string store_dir,
         std::unique_ptr<storage::Storage> store_storage, std::shared_ptr<const Fence> store_fence);

  // Opens what a storage contains.
  static Status Open(const StoreOptions& options, const std::string& dir,
                     std::unique_ptr<storage::Storage> storage, std::shared_ptr<const Fence> fence,
                     std::shared_ptr<Opened>* opened);
  // Closes every queue, makes everything durable, and closes the storage. Idempotent. `ended` is
  // not Ok if the ownership has ended, so that nothing can be written any more. NotDurable,
  // NotOwner: not everything was written.
  Status Close(const Status& ended) WQ_EXCLUDES(mu);
  // Frees the keys of all queues, and whatever else no call reads any more. REQUIRES: Close was
  // called.
  void FreeKeys() WQ_EXCLUDES(mu);
  // Reads the records of the store and its tokens, and those that name its queues. REQUIRES: called
  // first, once.
  Status Load();
  // Reads the records that name queues, into `records`, `leftovers` and `last_id`.
  Status LoadQueues() WQ_EXCLUDES(mu);
  // Increments *id until the storage has nothing of a queue of this id.
  Status SkipIdsInUse(storage::QueueId* id) const;
  // Writes the record of a new queue.
  Status WriteNewRecord(std::string_view name) WQ_REQUIRES(mu);
  // NotDurable: the store is failed, so its storage cannot be read.
  Status CheckReadable() const WQ_REQUIRES(mu);
  // Reserves tokens; see Store. Waits for the write under mu: so no two calls reserve one number.
  Status ReserveTokens(uint64_t count, uint64_t* first) WQ_REQUIRES(mu);
  // Makes a Queue with its state from the storage. Writes the record of a queue that is new.
  Status MakeQueue(std::string_view name, const QueueOptions& queue_options,
                   std::unique_ptr<Queue>* queue) WQ_REQUIRES(mu);
  // Deletes a queue that is not open, and the leftovers.
  Status DeleteQueue(std::string_view name) WQ_REQUIRES(mu);
  Status EraseLeftovers() WQ_REQUIRES(mu);
  // Appends the batch to the journal and waits for it.
  Status WriteNow(const storage::MutationBatch& batch, Durability durability) const;
  // Stops the journal and closes the storage. A failed store gets a last attempt at recovery,
  // unless its ownership has ended.
  Status CloseStorage(const Status& ended) WQ_EXCLUDES(mu);

  // --- FailureRecovery::Target ---
  Status Reopen() override WQ_EXCLUDES(mu);
  Status AppendDifference(storage::MutationBatch* batch) override WQ_EXCLUDES(mu);

  // ShuttingDown, NotOwner.
  Status CheckOpen() const WQ_REQUIRES(mu);

  const StoreOptions options;
  const std::string dir;
  Clock* const clock;
  const std::shared_ptr<const Fence> fence;
  const std::unique_ptr<storage::Storage> storage;
  const std::unique_ptr<StoreMetrics> metrics;  // Null: no provider.
  const std::unique_ptr<Journal> journal;       // Null if and only if storage is.
  // Null if and only if storage is. Stopped before the journal.
  const std::unique_ptr<FailureRecovery> failure_recovery;
  // Null: nothing is recorded. Before the queues, which record to it.
  const std::unique_ptr<HistoryRecorder> recorder;
  std::string uuid;  // Constant after Load.

  Mutex close_mu;  // Held during Close, so that a second Close waits for the first.
  Status close_status WQ_GUARDED_BY(close_mu);

  // While the store is healthy, the storage is read only under this lock, to open a queue.
  mutable Mutex mu;
  using Records = std::map<std::string, storage::QueueRecord, std::less<>>;  // By name.
  Records records WQ_GUARDED_BY(mu);
  // Of killed or failed deletions and imports: names of no queue, whose rows are to be erased.
  Records leftovers WQ_GUARDED_BY(mu);
  storage::QueueId last_id WQ_GUARDED_BY(mu) = 0;  // The greatest that any of them has had.
  std::map<std::string, std::unique_ptr<Queue>, std::less<>> queues
      WQ_GUARDED_BY(mu);  // Those that are open.
  // Callers may still have pointers to them, and the timer too.
  std::vector<std::unique_ptr<Queue>> closed_queues WQ_GUARDED_BY(mu);
  // The open queues by name once more: mu is held while a queue is read or deleted, and FindQueue
  // must not wait for that. Taken last.
  mutable Mutex find_mu;
  std::map<std::string, Queue*, std::less<>> found WQ_GUARDED_BY(find_mu);
  storage::TokensRecord tokens WQ_GUARDED_BY(mu);
  bool closed WQ_GUARDED_BY(mu) = false;

  Timer timer;  // Last, as it uses the queues: it is destroyed first.
};

}  // namespace wq
