#include "storage/replication/checkpoint.h"

#define XXH_INLINE_ALL  // The header alone: no library to link.
#include <xxhash.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutant.h"
#include "storage/record_keys.h"
#include "storage/store_directory.h"

namespace wq::storage {
namespace {

// A part's header: the checksum.
constexpr size_t kChecksumBytes = sizeof(uint64_t);

std::string SealPart(std::string_view mutations) {
  std::string part;
  part.reserve(kChecksumBytes + mutations.size());
  AppendBig64(XXH3_64bits(mutations.data(), mutations.size()), &part);
  return part.append(mutations);
}

// Appends what the part has to *mutations.
Status OpenPart(std::string_view part, std::string* mutations) {
  if (part.size() < kChecksumBytes) return Status::Corruption("is too short");
  const std::string_view piece = part.substr(kChecksumBytes);
  if (ReadBig64(part) != XXH3_64bits(piece.data(), piece.size())) {
    return Status::Corruption("does not match its checksum");
  }
  mutations->append(piece);
  return Status::Ok();
}

Status Stopped() { return Status::ShuttingDown("the checkpoint was interrupted"); }

class CheckpointWriter {
 public:
  CheckpointWriter(ReplicatedLog* log, uint64_t epoch, LogCheckpoint* made)
      : log_(log), epoch_(epoch), made_(made) {}

  Status Add(Family family, std::string_view key, std::string_view value) {
    MutationBatch row;
    row.Put(family, key, value);
    ++made_->rows;
    Status status;
    if (!part_.empty() && kChecksumBytes + part_.bytes() + row.bytes() > kMaxLogEntryBytes) {
      status = Flush();
    }
    part_.Append(row);
    return status;
  }

  // A row that is longer than a part is in several.
  Status Flush() {
    std::string_view rest = part_.mutations();
    Status status;
    do {
      const std::string part = SealPart(rest.substr(0, kMaxLogEntryBytes - kChecksumBytes));
      rest.remove_prefix(part.size() - kChecksumBytes);
      status = log_->PutCheckpointPart(epoch_, made_->id, made_->parts, part);
      ++made_->parts;
      made_->bytes += part.size();
    } while (status.ok() && !rest.empty());
    part_.Clear();
    return status;
  }

 private:
  ReplicatedLog* const log_;
  const uint64_t epoch_;
  LogCheckpoint* const made_;
  MutationBatch part_;
};

}  // namespace

Status WriteCheckpoint(const Reader& snapshot, ReplicatedLog* log, uint64_t epoch, int64_t now_us,
                       const std::atomic<bool>& stop, LogCheckpoint* made) {
  ReplicationRecord position;
  Status status = GetReplication(snapshot, &position);
  if (!status.ok()) return status;
  *made = {.id = NewUuid(), .sequence = position.sequence, .made_at_us = now_us};
  if (WQ_MUTANT(checkpoint_of_another_moment)) ++made->sequence;
  CheckpointWriter writer(log, epoch, made);
  for (int i = 0; i < kFamilyCount && status.ok(); ++i) {
    const auto family = static_cast<Family>(i);
    Status added;
    status = snapshot.Scan(family, "", "", [&](std::string_view key, std::string_view value) {
      if (IsOfCopy(family, key)) return true;
      added = stop.load(std::memory_order_relaxed) ? Stopped() : writer.Add(family, key, value);
      return added.ok();
    });
    if (status.ok()) status = std::move(added);
  }
  if (status.ok()) status = writer.Flush();
  return status.ok() ? log->CommitCheckpoint(epoch, *made) : status;
}

Status ReadCheckpoint(ReplicatedLog* log, const LogCheckpoint& checkpoint,
                      const std::atomic<bool>& stop, LocalReplica* replica) {
  // In memory: a checkpoint that does not fit there does not fit etcd either.
  std::vector<MutationBatch> parts;
  std::string bytes;
  std::string mutations;  // Of a row of which more has to come.
  for (uint64_t i = 0; i < checkpoint.parts; ++i) {
    if (stop.load(std::memory_order_relaxed)) return Stopped();
    Status status = log->ReadCheckpointPart(checkpoint.id, i, &bytes);
    if (!status.ok()) return status;
    status = OpenPart(bytes, &mutations);
    if (status.ok() && parts.emplace_back().AppendMutations(mutations)) {
      mutations.clear();
    } else if (status.ok() && i + 1 == checkpoint.parts) {
      status = Status::Corruption("does not decode");
    }
    if (!status.ok()) {
      return Status::Corruption("part " + std::to_string(i) + " of checkpoint " + checkpoint.id +
                                " in " + log->Name() + " " + status.message());
    }
  }
  Status status = replica->Erase();
  for (auto part = parts.begin(); part != parts.end() && status.ok(); ++part) {
    status = replica->WriteRows(*part);
  }
  return status.ok() ? replica->EndSeed(0, checkpoint.sequence) : status;
}

}  // namespace wq::storage
