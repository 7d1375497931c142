#include "storage/replicated_storage.h"

#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/mutant.h"
#include "storage/replication/log_group.h"

namespace wq::storage {

using SteadyClock = std::chrono::steady_clock;

Status ReplicatedStorage::Begin() {
  sequence_.store(replica_->position().sequence, std::memory_order_release);
  const LogSequence next = replica_->position().sequence + 1;
  if (replica_->unfinished() && !WQ_MUTANT(unfinished_group_kept)) {
    Status status = Repeat([&] { return log_->EraseFrom(options_.epoch, next); });
    if (!status.ok()) return status;
  }
  replica_->DropUnfinished();
  MutationBatch batch;
  // KeepAhead has taken it from a process log, which has checked it.
  if (!batch.AppendMutations(replica_->ahead())) {
    return Status::Corruption("the record of what the process log had does not decode");
  }
  const std::string mutations(batch.mutations());
  return WriteGroup(mutations, batch, /*sync=*/true);
}

Status ReplicatedStorage::CheckCut() const {
  const MutexLock lock(mu_);
  return cut_;
}

Status ReplicatedStorage::Repeat(const std::function<Status()>& call) {
  const auto until = SteadyClock::now() + options_.write_timeout;
  for (;;) {
    Status status = call();
    if (status.code() != StatusCode::kIOError) return status;
    const MutexLock lock(mu_);
    const auto next = SteadyClock::now() + options_.retry_wait;
    while (cut_.ok() && SteadyClock::now() < next) cut_cv_.WaitUntil(mu_, next);
    if (!cut_.ok()) return cut_;
    if (SteadyClock::now() >= until) return status;
  }
}

Status ReplicatedStorage::AppendGroup(std::string_view mutations, LogSequence* last) {
  std::vector<std::string> entries;
  SplitGroup(options_.epoch, mutations, &entries);
  *last = replica_->position().sequence;
  for (const std::string& entry : entries) {
    const LogSequence sequence = *last + 1;
    Status status = Repeat([&] { return log_->Append(options_.epoch, sequence, entry); });
    if (!status.ok()) return status;
    *last = sequence;
    appended_.fetch_add(entry.size(), std::memory_order_relaxed);
  }
  return Status::Ok();
}

Status ReplicatedStorage::WriteGroup(std::string_view mutations, MutationBatch& batch, bool sync) {
  Status status = CheckCut();
  if (status.ok()) status = failed_;
  if (!status.ok()) return status;
  if (WQ_MUTANT(applied_before_the_log)) {
    MutationBatch early;
    early.Append(batch);
    replica_->PutPosition(options_.epoch, replica_->position().sequence + 1, &early);
    static_cast<void>(replica_->base()->Write(early, sync));
  }
  LogSequence last = 0;
  status = AppendGroup(mutations, &last);
  if (!status.ok()) {
    pending_ = mutations;
    pending_begin_ = replica_->position().sequence + 1;
    return Fail(std::move(status));
  }
  replica_->PutPosition(options_.epoch, last, &batch);
  status = replica_->base()->Write(batch, sync);
  if (!status.ok()) return Fail(std::move(status));
  replica_->Advance(options_.epoch, last);
  sequence_.store(last, std::memory_order_release);
  return status;
}

// The position is appended behind the mutations, and does not belong to the caller's batch.
Status ReplicatedStorage::Write(MutationBatch& batch, bool sync) {
  if (WQ_MUTANT(cursor_before_its_adds)) {
    MutationBatch cursors;
    batch.ForEach([&cursors](const Mutation& mutation) {
      if (mutation.family != Family::kCursors || !mutation.is_put) return;
      cursors.Put(mutation.family, mutation.key, mutation.value);
    });
    const std::string early(cursors.mutations());
    if (Status s = WriteGroup(early, cursors, sync); !s.ok()) return s;
  }
  MutationBatch with_position;
  with_position.Append(batch);
  return WriteGroup(batch.mutations(), with_position, sync);
}

Status ReplicatedStorage::Sync() {
  Status status = CheckCut();
  if (status.ok()) status = failed_;
  if (!status.ok()) return status;
  status = replica_->base()->Sync();
  return status.ok() ? status : Fail(std::move(status));
}

Status ReplicatedStorage::Fail(Status status) {
  failed_ = std::move(status);
  readable_.store(false, std::memory_order_release);
  return failed_;
}

Status ReplicatedStorage::Reopen() {
  Status status = CheckCut();
  if (!status.ok()) return status;
  stop_snapshot_.store(true, std::memory_order_relaxed);
  const MutexLock lock(snapshot_mu_);
  stop_snapshot_.store(false, std::memory_order_relaxed);
  readable_.store(false, std::memory_order_release);
  status = replica_->base()->Reopen();
  if (status.ok()) status = replica_->Load();
  if (status.ok()) {
    status = Repeat([this] {
      replica_->DropUnfinished();
      return replica_->CatchUp(log_);
    });
  }
  replica_->DropUnfinished();
  // The lease has run out unseen: what is in the place of the pending group is not that group.
  if (status.ok() && replica_->position().epoch != options_.epoch) {
    status = Status::NotOwner("the log has groups of epoch " +
                              std::to_string(replica_->position().epoch) + ", after epoch " +
                              std::to_string(options_.epoch) + " of this ownership");
  }
  // Otherwise the log had all of it.
  if (status.ok() && pending_.has_value() && replica_->position().sequence < pending_begin_) {
    status = CompletePending();
  }
  if (!status.ok()) return status;
  pending_.reset();
  sequence_.store(replica_->position().sequence, std::memory_order_release);
  failed_ = Status::Ok();
  readable_.store(true, std::memory_order_release);
  return status;
}

Status ReplicatedStorage::CompletePending() {
  MutationBatch batch;
  WQ_CHECK(batch.AppendMutations(*pending_), "a group that does not decode");
  LogSequence last = 0;
  Status status = AppendGroup(*pending_, &last);
  if (!status.ok()) return status;
  replica_->PutPosition(options_.epoch, last, &batch);
  status = replica_->base()->Write(batch, /*sync=*/true);
  if (status.ok()) replica_->Advance(options_.epoch, last);
  return status;
}

void ReplicatedStorage::Cut(Status why) {
  {
    const MutexLock lock(mu_);
    if (cut_.ok()) cut_ = std::move(why);
  }
  stop_snapshot_.store(true, std::memory_order_relaxed);
  cut_cv_.NotifyAll();
}

Status ReplicatedStorage::WriteCheckpoint(int64_t now_us, LogCheckpoint* made) {
  const MutexLock lock(snapshot_mu_);
  Status status = CheckCut();
  if (!status.ok()) return status;
  if (!readable_.load(std::memory_order_acquire)) {
    return Status::NotDurable("the store is failed");
  }
  return replica_->WriteCheckpoint(log_, options_.epoch, now_us, stop_snapshot_, made);
}

}  // namespace wq::storage
