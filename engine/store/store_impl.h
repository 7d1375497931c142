// Store::Impl: the store of one process: what is opened (Store::Impl::Opened), and of a replicated
// store the copy, the replica and the ownerships that have ended.
//
// A store that is not replicated is opened once. A replicated one is opened at the begin of each
// ownership, over the same copy, and closed at its end; what was opened stays until the Store is
// destroyed, without its keys, since callers may still have pointers to its queues.
//
// Lock: mu, which is held for no call of anything else.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/process_mark.h"
#include "engine/metrics/metrics.h"
#include "engine/replication/replica_node.h"
#include "storage/local_replica.h"
#include "storage/storage.h"
#include "storage/store_directory.h"
#include "wq/store.h"

namespace wq {

struct Store::Impl final : ReplicaNode::Target {
  struct Opened;  // opened_store.h

  Impl(const StoreOptions& store_options, std::string store_dir);
  ~Impl() override;

  // Makes a store that is not replicated over a storage; null: one in memory.
  static Status Open(const StoreOptions& options, const std::string& dir,
                     std::unique_ptr<storage::Storage> storage, std::unique_ptr<Store>* store);
  // Opens `dir` as a replica: its copy, and the thread that follows the log.
  Status OpenReplica();
  // Opens the copy, or makes it if there is none. An opening that fails, or is killed, is continued
  // by the next one.
  Status OpenCopy();
  // Makes an empty store of the log's uuid. *found: as it is then.
  Status MakeStore(storage::DirectoryInfo* found);
  // Makes the open store a replica.
  Status BeginCopy();
  Status OpenStorage(bool create, const std::string& store_uuid);

  // Locked: this process was forked from the one that opened the store. To be called before any
  // lock is taken.
  Status CheckProcess() const;
  // What is opened now. Locked; NotOwner: the store is a replica.
  Status Current(std::shared_ptr<Opened>* opened) const WQ_EXCLUDES(mu);
  // As Store.
  uint64_t Epoch() const;
  ReplicaState Replica() const;
  Status CloseReplica() WQ_EXCLUDES(mu);
  ReplicaReading ReadGauges() const;

  // --- ReplicaNode::Target ---
  Status BeginOwnership(std::unique_ptr<storage::Storage> storage,
                        std::shared_ptr<const Fence> fence) override WQ_EXCLUDES(mu);
  void OwnershipBegan(uint64_t epoch) override;
  Status EndOwnership(const Status& why) override WQ_EXCLUDES(mu);
  void OwnershipEnded(uint64_t epoch, const Status& why) override WQ_EXCLUDES(mu);

  const ProcessMark process;
  const StoreOptions options;
  const std::string dir;
  Clock* const clock;
  // Constant after the opening:
  std::string uuid;
  int64_t opened_at_us = 0;  // Of a replica; wall time.

  // Of a replicated store.
  std::unique_ptr<storage::Storage> base;
  std::unique_ptr<storage::LocalReplica> copy;

  mutable Mutex mu;
  std::shared_ptr<Opened> current WQ_GUARDED_BY(mu);  // Null: this process is not the owner.
  std::vector<std::shared_ptr<Opened>> past WQ_GUARDED_BY(mu);
  bool closed WQ_GUARDED_BY(mu) = false;

  Mutex close_mu;  // Held during CloseReplica, so that a second one waits for the first.
  bool replica_closed WQ_GUARDED_BY(close_mu) = false;
  Status close_status WQ_GUARDED_BY(close_mu);

  std::unique_ptr<ReplicaNode> replica;     // After all that its thread uses.
  std::unique_ptr<ReplicaMetrics> metrics;  // Reads the replica.
};

}  // namespace wq
