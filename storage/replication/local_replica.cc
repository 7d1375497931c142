#include "storage/local_replica.h"

#include <utility>
#include <vector>

#include "base/mutant.h"
#include "storage/replication/checkpoint.h"
#include "storage/replication/log_group.h"

namespace wq::storage {
namespace {

constexpr size_t kWriteBytes = size_t{1} << 20;
constexpr size_t kReadBytes = size_t{4} << 20;

// A row of the owner's copy has no meaning in another.
void AppendForCopy(const std::string& mutations, MutationBatch* batch) {
  MutationBatch group;
  // GroupReader has checked them.
  if (!group.AppendMutations(mutations)) return;
  group.ForEach([batch](const Mutation& mutation) {
    if (IsOfCopy(mutation.family, mutation.key)) return;
    if (mutation.is_put) {
      batch->Put(mutation.family, mutation.key, mutation.value);
    } else {
      batch->Erase(mutation.family, mutation.key);
    }
  });
}

}  // namespace

LocalReplica::LocalReplica(Storage* base)
    : base_(base), group_(std::make_unique<GroupReader>(GroupEnd())) {}
LocalReplica::~LocalReplica() = default;

LogSequence LocalReplica::next() const { return group_->last() + 1; }
bool LocalReplica::unfinished() const { return group_->unfinished(); }

void LocalReplica::DropUnfinished() {
  *group_ = GroupReader({.last = position_.sequence, .epoch = position_.epoch});
}

Status LocalReplica::Seed(ReplicatedLog* log, const LogCheckpoint& checkpoint,
                          const std::atomic<bool>& stop) {
  return ReadCheckpoint(log, checkpoint, stop, this);
}

Status LocalReplica::WriteCheckpoint(ReplicatedLog* log, uint64_t epoch, int64_t now_us,
                                     const std::atomic<bool>& stop, LogCheckpoint* made) const {
  return storage::WriteCheckpoint(*base_->Snapshot(), log, epoch, now_us, stop, made);
}

Status LocalReplica::Load() {
  Status status = GetReplication(*base_, &position_);
  if (status.ok()) status = GetAhead(*base_, &ahead_);
  DropUnfinished();
  return status;
}

Status LocalReplica::WriteBase(MutationBatch& batch, bool sync) {
  Status status = base_->Write(batch, sync);
  failed_ = failed_ || !status.ok();
  return status;
}

Status LocalReplica::Recover() {
  if (!failed_) return Status::Ok();
  Status status = base_->Reopen();
  // Again, if it has failed: what the process log has is of the last ownership, and not of the
  // next.
  if (status.ok()) status = EndOwnership();
  failed_ = !status.ok();
  return status;
}

Status LocalReplica::Begin(bool seeded) {
  MutationBatch batch;
  const ReplicationRecord position = {.seeded = seeded};
  PutReplication(position, &batch);
  Status status = WriteBase(batch, /*sync=*/true);
  if (!status.ok()) return status;
  position_ = position;
  ahead_ = {};
  DropUnfinished();
  return status;
}

Status LocalReplica::Write(MutationBatch* batch, const ReplicationRecord& position) {
  PutReplication(position, batch);
  Status status = WriteBase(*batch, /*sync=*/false);
  if (status.ok()) position_ = position;
  batch->Clear();
  return status;
}

Status LocalReplica::Apply(std::span<const LogEntry> entries) {
  MutationBatch batch;
  ReplicationRecord position = position_;
  for (const LogEntry& entry : entries) {
    bool complete = false;
    Status status = group_->Add(entry, &complete);
    if (!status.ok()) {
      DropUnfinished();  // What was read and not written is to be read again.
      return status;
    }
    if (WQ_MUTANT(half_a_group_applied)) complete = true;
    if (!complete) continue;
    AppendForCopy(group_->mutations(), &batch);
    if (!ahead_.mutations.empty() && group_->epoch() != ahead_.epoch &&
        !WQ_MUTANT(ahead_of_another_epoch)) {
      ahead_ = {};
      EraseAhead(&batch);
    }
    position = {.epoch = group_->epoch(), .sequence = group_->last(), .seeded = true};
    if (batch.bytes() < kWriteBytes) continue;
    status = Write(&batch, position);
    if (!status.ok()) return status;
  }
  return position.sequence == position_.sequence ? Status::Ok() : Write(&batch, position);
}

Status LocalReplica::CatchUp(ReplicatedLog* log) {
  for (;;) {
    std::vector<LogEntry> entries;
    Status status = log->Read(next(), kReadBytes, &entries);
    if (!status.ok() || entries.empty()) return status;
    status = Apply(entries);
    if (!status.ok()) return status;
  }
}

Status LocalReplica::EndOwnership() {
  Status status = Load();
  failed_ = failed_ || !status.ok();
  ProcessLog* const log = base_->process_log();
  if (!status.ok() || log == nullptr || log->Used() == 0) return status;
  const LogPosition end = log->end();
  MutationBatch batch;
  AheadRecord ahead = {.epoch = position_.epoch, .sequence = position_.sequence, .mutations = {}};
  log->Read(end - log->Used(), end,
            [&ahead](std::string_view mutations) { ahead.mutations.append(mutations); });
  PutAhead(ahead, &batch);
  PutProcessLog({.number = log->number(), .position = end}, &batch);
  status = WriteBase(batch, /*sync=*/false);
  if (!status.ok()) return status;
  log->Release(end);
  ahead_ = std::move(ahead);
  return status;
}

void LocalReplica::PutPosition(uint64_t epoch, LogSequence sequence, MutationBatch* batch) const {
  PutReplication({.epoch = epoch, .sequence = sequence, .seeded = true}, batch);
  if (!ahead_.mutations.empty()) EraseAhead(batch);
}

void LocalReplica::Advance(uint64_t epoch, LogSequence sequence) {
  position_ = {.epoch = epoch, .sequence = sequence, .seeded = true};
  ahead_ = {};
  DropUnfinished();
}

Status LocalReplica::Erase() {
  Status status = Begin(/*seeded=*/false);
  MutationBatch batch;
  EraseAhead(&batch);
  for (int i = 0; i < kFamilyCount && status.ok(); ++i) {
    const auto family = static_cast<Family>(i);
    Status written;
    status = base_->Scan(family, "", "", [&](std::string_view key, std::string_view) {
      if (!IsOfCopy(family, key)) batch.Erase(family, key);
      if (batch.bytes() >= kWriteBytes) {
        written = WriteBase(batch, /*sync=*/false);
        batch.Clear();
      }
      return written.ok();
    });
    if (status.ok()) status = written;
  }
  return status.ok() ? WriteBase(batch, /*sync=*/false) : status;
}

Status LocalReplica::EndSeed(uint64_t epoch, LogSequence sequence) {
  MutationBatch batch;
  const ReplicationRecord position = {.epoch = epoch, .sequence = sequence, .seeded = true};
  PutReplication(position, &batch);
  Status status = WriteBase(batch, /*sync=*/true);
  if (!status.ok()) return status;
  position_ = position;
  DropUnfinished();
  return status;
}

}  // namespace wq::storage
