// ReplicatedStorage: the storage of a replicated store's owner, for the length of one ownership.
//
//   ReplicatedStorage storage(&replica, log, {.epoch = lease.epoch});
//   Status s = storage.Begin();                     // The first group: the log takes our writes.
//   s = storage.Write(batch, /*sync=*/false);       // In the log, and then in this machine's copy.
//   storage.Cut(Status::NotOwner("…"));             // Another thread: the ownership has ended.
//
// What is where at each instant of a Write: nothing; a part of the group in the log (replicas do
// not apply it, and the next owner erases it); the whole group in the log (every replica applies
// it, this one too, after a crash: LocalReplica); the group and the position in the copy. So what a
// Write has acknowledged is in the log, and the copy is never ahead of the log.
//
// A call that the log does not answer is repeated until write_timeout has passed. Then the outcome
// of the Write is unknown, and every later one fails until Reopen. A request may reach the log
// however late; so Reopen first completes that group, with the same bytes in the same place, and
// never puts another one there.
//
// Threading: as Storage; Cut and WriteCheckpoint may be called by any thread at any time.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "storage/local_replica.h"
#include "storage/storage.h"
#include "wq/replicated_log.h"
#include "wq/status.h"

namespace wq::storage {

class ReplicatedStorage final : public Storage {
 public:
  struct Options {
    uint64_t epoch = 0;
    std::chrono::milliseconds write_timeout{10'000};
    std::chrono::milliseconds retry_wait{20};  // Between two repetitions.
  };
  // Both pointers are borrowed. REQUIRES: the replica has all that the log has but for an
  // unfinished group, and is used by nothing else until Cut was called and the last Write has
  // returned.
  ReplicatedStorage(LocalReplica* replica, ReplicatedLog* log, Options options)
      : replica_(replica), log_(log), options_(options) {}

  // Erases the group that the last owner left unfinished, and appends the first one of this epoch:
  // what this replica had ahead, or nothing. Errors as Write.
  Status Begin();

  Status Get(Family family, std::string_view key, std::string* value) const override {
    return replica_->base()->Get(family, key, value);
  }
  Status Scan(Family family, std::string_view begin, std::string_view end,
              const Visitor& visit) const override {
    return replica_->base()->Scan(family, begin, end, visit);
  }
  uint64_t FamilyBytes(Family family) const override {
    return replica_->base()->FamilyBytes(family);
  }

  // NotOwner: the ownership has ended; the batch is not in the log unless an earlier error left
  // that unknown. Corruption: the log has another entry in this place.
  Status Write(MutationBatch& batch, bool sync) override;
  Status Sync() override;
  ProcessLog* process_log() override { return replica_->base()->process_log(); }
  Status ProcessLogStatus() const override { return replica_->base()->ProcessLogStatus(); }
  Status Reopen() override;
  // Writes nothing: the copy stays open, and goes on as a replica's.
  Status Close() override { return Status::Ok(); }

  // Makes all further calls, and one that waits for the log, return `why`, which is NotOwner.
  void Cut(Status why);

  // Writes a checkpoint of the copy as it is now, beside writes that go on. *made: what was
  // committed, if Ok.
  //   NotDurable          the storage is failed.
  //   ShuttingDown        a Reopen or Cut has interrupted it: a Reopen waits until it has ended.
  //   NotOwner, IOError   as ReplicatedLog; the log has this checkpoint or the former one.
  // Blocks: for a request to the log for each part.
  Status WriteCheckpoint(int64_t now_us, LogCheckpoint* made);

  // The last entry that the copy has, and the bytes that this ownership has appended.
  LogSequence sequence() const { return sequence_.load(std::memory_order_acquire); }
  uint64_t appended_bytes() const { return appended_.load(std::memory_order_relaxed); }

 private:
  Status CheckCut() const;
  // Repeats `call` while it returns IOError, until write_timeout has passed or Cut.
  Status Repeat(const std::function<Status()>& call);
  Status AppendGroup(std::string_view mutations, LogSequence* last);
  Status WriteGroup(std::string_view mutations, MutationBatch& batch, bool sync);
  Status Fail(Status status);
  Status CompletePending();

  LocalReplica* const replica_;
  ReplicatedLog* const log_;
  const Options options_;
  Status failed_;  // By one writer at a time, as all of Storage.
  // The group whose outcome is unknown, which begins behind the position; empty bytes are a group,
  // too.
  std::optional<std::string> pending_;
  LogSequence pending_begin_ = 0;
  std::atomic<LogSequence> sequence_{0};
  std::atomic<uint64_t> appended_{0};

  mutable Mutex mu_;
  CondVar cut_cv_;
  Status cut_ WQ_GUARDED_BY(mu_);

  Mutex snapshot_mu_;  // Held during WriteCheckpoint and Reopen.
  std::atomic<bool> stop_snapshot_{false};
  std::atomic<bool> readable_{true};
};

}  // namespace wq::storage
