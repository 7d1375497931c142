// EtcdLog: a ReplicatedLog over the keys of keys.h.
//
// Each change is one transaction of etcd, which compares the owner key's create_revision with the
// epoch: etcd refuses what arrives too late. A request whose answer is lost may reach etcd late,
// and after its repetition. So each change is one that does nothing then, even in the same epoch:
//
//   change                what makes a late copy of it harmless
//   --------------------  -------------------------------------------------------------------------
//   Append                the entry must not exist. A copy that comes after the entry was truncated
//                         puts it below `first`, where nobody reads; the next Truncate deletes it
//   EraseFrom             no entry may have changed since the call has read etcd's revision
//   Truncate              `first` must not have changed since the call has read it
//   CommitCheckpoint      `checkpoint` must not have changed since the call has read it
//   PutCheckpointPart     a copy has the same bytes. If it comes after another checkpoint's commit,
//                         the next commit deletes it
//   Acquire               the owner key must not exist. What a failed call may have left is revoked
//                         with its lease, before the next attempt
//   Destroy               the key `store` must not have changed since the call has read it
//
// Threading, lifetime, a crash: as ReplicatedLog.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "storage/etcd/client.h"
#include "storage/etcd/keys.h"
#include "wq/replicated_log.h"

namespace wq::etcd {

class EtcdLog final : public ReplicatedLog {
 public:
  explicit EtcdLog(std::shared_ptr<Client> client);

  std::string Name() const override;
  Status Claim(std::string* uuid) override;
  Status State(LogState* state) override;
  std::vector<LogMember> Members() override;
  Status Destroy(bool force) override;
  Status Acquire(std::string_view name, std::chrono::milliseconds lease, LogLease* owned) override;
  Status Renew(LogLease* owned) override;
  Status Release(const LogLease& owned) override;
  Status SetSuccessor(std::string_view name) override;
  Status Append(uint64_t epoch, LogSequence sequence, std::string_view bytes) override;
  Status EraseFrom(uint64_t epoch, LogSequence sequence) override;
  Status Truncate(uint64_t epoch, LogSequence sequence) override;
  Status Read(LogSequence sequence, size_t max_bytes, std::vector<LogEntry>* entries) override;
  std::unique_ptr<LogFollower> Follow(LogSequence sequence) override;
  Status PutCheckpointPart(uint64_t epoch, std::string_view id, uint64_t index,
                           std::string_view bytes) override;
  Status CommitCheckpoint(uint64_t epoch, const LogCheckpoint& checkpoint) override;
  Status ReadCheckpointPart(std::string_view id, uint64_t index, std::string* bytes) override;
  Status PutReplica(const LogReplica& replica) override;
  Status RemoveReplica(std::string_view name) override;

 private:
  // A lease of an Acquire whose outcome is unknown.
  struct Attempt {
    std::string name;
    int64_t lease = 0;
  };

  // Makes the transaction, if `epoch` is the owner's, and its other conditions hold, too: then
  // answer->succeeded(). REQUIRES: AddGuard was called first. `answer`: null: not needed.
  Status Guarded(uint64_t epoch, const pb::TxnRequest& txn, Deadline deadline,
                 pb::TxnResponse* answer = nullptr);
  // The condition that `epoch` is the owner's, and the reading of the owner if not.
  void AddGuard(uint64_t epoch, pb::TxnRequest* txn) const;
  // NotOwner, naming the owner that a failed transaction has read; Ok: it is the one of `epoch`.
  Status CheckOwner(uint64_t epoch, const pb::KeyValue* owner) const;

  // Revokes what earlier attempts of `name` may have left.
  Status RevokeAttempts(std::string_view name, Deadline deadline) WQ_EXCLUDES(mu_);
  Status TakeOwnership(std::string_view name, int64_t lease, Deadline deadline, LogLease* owned);
  Status LockedBy(const pb::KeyValue& owner) const;

  // One attempt at State; *again: etcd compacted the revision in between.
  Status TryState(Deadline deadline, LogState* state, bool* again);
  Status ReadState(const pb::TxnResponse& answer, LogState* state) const;
  // Compacts up to the revision of the last truncation, unless that is done.
  Status CompactTruncated(Deadline deadline);
  // Erases the parts of checkpoints that were begun and not committed, but for those of `id`.
  Status EraseAbandonedParts(uint64_t epoch, std::string_view id);

  const std::shared_ptr<Client> client_;
  const Keys keys_;
  std::atomic<int64_t> to_compact_ = 0;  // The revision of a truncation; 0: nothing to compact.

  Mutex mu_;
  std::vector<Attempt> attempts_ WQ_GUARDED_BY(mu_);
};

}  // namespace wq::etcd
