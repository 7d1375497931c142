// ReplicaNode: one process's part in a replicated store. Its thread follows the log, campaigns for
// the ownership, keeps it, and gives it up.
//
//   ReplicaNode replica(base, &target, options, uuid);     // The thread begins at Start.
//   Status s = replica.Start();
//   s = replica.AwaitOwnership(10s);
//   s = replica.Resign();
//   replica.Stop();                                    // Resigns if it owns.
//
//   following --- no owner, Acquire -> catching up --- Begin -> owning --- lost, resigned --+
//       ^                                                                                   |
//       +------------------------- EndOwnership of the copy <-------------------------------+
//
// Who uses the copy (LocalReplica): the thread while it follows and catches up; the
// ReplicatedStorage, that is the store's journal, from Target::Begin until Target::End has
// returned. Never both.
//
// Threads: this one; during an ownership a LeaseKeeper and a Maintenance, too. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "engine/replication/fence.h"
#include "engine/replication/lease_keeper.h"
#include "engine/replication/maintenance.h"
#include "storage/local_replica.h"
#include "storage/replicated_storage.h"
#include "wq/options.h"
#include "wq/replicated_log.h"
#include "wq/status.h"
#include "wq/store.h"

namespace wq {

class ReplicaNode {
 public:
  // The store. Called by the replica's thread, without a lock.
  class Target {
   public:
    virtual ~Target() = default;
    // The ownership begins. `storage` is valid until the target is destroyed, and is used until
    // EndOwnership has returned. An error ends the ownership; nothing else is called then, and the
    // storage is not used any more.
    virtual Status BeginOwnership(std::unique_ptr<storage::Storage> storage,
                                  std::shared_ptr<const Fence> fence) = 0;
    // After BeginOwnership, when AwaitOwnership and Resign know of it.
    virtual void OwnershipBegan(uint64_t epoch) = 0;
    // The ownership ends: `why` is NotOwner; or Ok: it has not ended in the log yet, so what is
    // open is to be written. Returns after the last use of the storage.
    virtual Status EndOwnership(const Status& why) = 0;
    // After EndOwnership, and after the log knows it.
    virtual void OwnershipEnded(uint64_t epoch, const Status& why) = 0;
  };

  // `copy` and `target` are borrowed. `uuid`: of the store.
  ReplicaNode(storage::LocalReplica* copy, Target* target, const Replication& options,
              std::string uuid, Clock* clock);
  ~ReplicaNode() { static_cast<void>(Stop()); }
  ReplicaNode(const ReplicaNode&) = delete;
  ReplicaNode& operator=(const ReplicaNode&) = delete;

  void Start();
  // Ends the thread; resigns first. Blocks: for requests to the log that are under way. Returns
  // what EndOwnership has returned, if it owned.
  Status Stop() WQ_EXCLUDES(mu_);

  // As Store; a State says nothing of this replica's own ownership.
  Status AwaitOwnership(std::chrono::microseconds timeout) WQ_EXCLUDES(mu_);
  Status Resign() WQ_EXCLUDES(mu_);
  ReplicaState State() const WQ_EXCLUDES(mu_);

 private:
  using SteadyClock = std::chrono::steady_clock;
  struct Ownership;

  void Run();
  // Follows the log until this replica owns it: Ok, with *lease and when it was asked for.
  // Otherwise an error, after which to begin anew; ShuttingDown: Stop was called.
  Status Follow(LogLease* lease, int64_t* sent_us);
  Status Prepare();
  // Whether the log is the one whose entries this copy has.
  Status CheckLog(const LogState& state) const;
  Status Seed(const LogState& state);
  Status FollowOnce(LogFollower* follower);
  bool MayCampaign() WQ_EXCLUDES(mu_);
  void Own(LogLease lease, int64_t sent_us);
  Status CatchUp(const LogLease& lease, const Fence& fence, LogState* state);
  // These throw without a thread.
  void KeepLease(const LogLease& lease, Ownership* ownership) WQ_EXCLUDES(mu_);
  void Maintain(const LogLease& lease, Ownership* ownership) WQ_EXCLUDES(mu_);
  // Returns Ok, as AwaitEnd for an ownership that this replica gives up.
  Status GiveUp(const std::string& why) WQ_EXCLUDES(mu_);
  Status BeginOwnership(const LogLease& lease, Ownership* ownership);
  // Returns why the ownership ends: Ok if this replica gives it up.
  Status AwaitEnd(const Ownership& ownership) WQ_EXCLUDES(mu_);
  void EndOwnership(const LogLease& lease, Ownership* ownership, Status why);
  void Report();
  void SetProblem(const Status& problem) WQ_EXCLUDES(mu_);
  bool Stopping() const WQ_EXCLUDES(mu_);
  void Pause(std::chrono::milliseconds time) WQ_EXCLUDES(mu_);

  storage::LocalReplica* const copy_;
  Target* const target_;
  const Replication options_;
  const std::string uuid_;
  Clock* const clock_;

  // Of the thread.
  bool must_seed_ = false;  // The log does not have the next entry any more.
  LogOwner owner_;          // As the follower has reported it.
  std::string successor_;
  uint64_t seen_epoch_ = 0;  // The highest of the log's entries, and of this replica's ownerships.
  SteadyClock::time_point no_campaign_before_ = {};
  SteadyClock::time_point reported_at_ = {};
  uint64_t reported_ = 0;

  mutable Mutex mu_;
  CondVar cv_;
  bool stopping_ WQ_GUARDED_BY(mu_) = false;
  std::atomic<bool> stop_copying_{false};               // Ends a seeding, and the first checkpoint.
  LogFollower* follower_ WQ_GUARDED_BY(mu_) = nullptr;  // To be interrupted.
  bool may_resign_ WQ_GUARDED_BY(mu_) = false;          // The target owns, or is to.
  bool lease_lost_ WQ_GUARDED_BY(mu_) = false;          // Of the present ownership.
  // Why the present ownership is to be given up; empty: it is not.
  std::string resign_ WQ_GUARDED_BY(mu_);
  // Why this replica's last ownership could not begin; Ok: it could, or another owner came.
  Status not_begun_ WQ_GUARDED_BY(mu_);
  uint64_t ended_ WQ_GUARDED_BY(mu_) = 0;  // Ownerships that have ended.
  Status end_status_ WQ_GUARDED_BY(mu_);   // Of the last one.
  // Of the present ownership; null: none.
  storage::ReplicatedStorage* owned_storage_ WQ_GUARDED_BY(mu_) = nullptr;
  std::shared_ptr<const Fence> owned_fence_ WQ_GUARDED_BY(mu_);
  ReplicaState state_ WQ_GUARDED_BY(mu_);

  std::thread thread_;
};

}  // namespace wq
