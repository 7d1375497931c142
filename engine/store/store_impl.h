// Store::Impl: a storage, its journal and timer, and the queues on it.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "base/process_mark.h"
#include "engine/commit/failure_recovery.h"
#include "engine/commit/journal.h"
#include "engine/metrics/metrics.h"
#include "engine/queue/timer.h"
#include "storage/records.h"
#include "storage/storage.h"
#include "wq/clock.h"
#include "wq/store.h"

namespace wq {

struct Store::Impl final : FailureRecovery::Target {
  // `storage` is null for a store in memory only.
  Impl(const StoreOptions& store_options, std::string store_dir,
       std::unique_ptr<storage::Storage> store_storage);

  // Makes a Store of a storage: the end of every way to open one.
  static Status Open(const StoreOptions& options, const std::string& dir,
                     std::unique_ptr<storage::Storage> storage, std::unique_ptr<Store>* store);
  // Reads the store's own records. Before anything else.
  Status Load();
  // Gives a new queue its record.
  Status CreateQueue(std::string_view name) WQ_REQUIRES(mu);
  // NotDurable while the store is failed: nothing can be read then.
  Status CheckReadable() const WQ_REQUIRES(mu);
  // For the journal: makes the Adds that are in an inbox. Under no lock.
  void Collect() const;
  // Before a second queue is opened: what survives a crash is a prefix of the calls to all queues of the
  // store, and an inbox knows the order of one queue's only.
  void ShutInbox() WQ_REQUIRES(mu);
  // If only one queue is open: after another one was opened, or was not.
  void OpenInbox() WQ_REQUIRES(mu);
  // Makes the object of a queue, and its record if it has none.
  Status MakeQueue(std::string_view name, const QueueOptions& queue_options,
                   std::unique_ptr<Queue>* queue) WQ_REQUIRES(mu);
  // Ends the journal and closes the storage. What a last attempt can mend is mended.
  Status CloseStorage() WQ_EXCLUDES(mu);

  // For the failure_recovery.
  Status Reopen() override WQ_EXCLUDES(mu);
  Status AppendDifference(storage::MutationBatch* batch) override WQ_EXCLUDES(mu);

  // Locked: this process was forked from the store's owner. Before any lock is taken.
  Status CheckProcess() const;

  const ProcessMark process;
  const StoreOptions options;
  const std::string dir;
  Clock* const clock;
  const std::unique_ptr<storage::Storage> storage;
  const std::unique_ptr<StoreMetrics> metrics;  // Null: none.
  const std::unique_ptr<Journal> journal;       // Null if and only if storage is.
  const std::unique_ptr<FailureRecovery>
      failure_recovery;  // The same. Stopped before the journal is.
  std::string uuid;      // Constant after Load.

  Mutex close_mu;  // Before mu: a second Close waits for the first.
  Status close_status WQ_GUARDED_BY(close_mu);

  // Before the queues'. Whoever opens a queue reads the storage under it, and nobody else does while the
  // store is healthy.
  mutable Mutex mu;
  std::map<std::string, storage::QueueRecord, std::less<>> records WQ_GUARDED_BY(mu);  // By name.
  std::map<std::string, std::unique_ptr<Queue>, std::less<>> queues
      WQ_GUARDED_BY(mu);  // Open ones.
  bool closed WQ_GUARDED_BY(mu) = false;
  std::atomic<Queue*> with_inbox{nullptr};  // The only open queue of a store on disk. Set under mu.

  Timer timer;  // Last, so that it ends before the queues that it fires.
};

}  // namespace wq
