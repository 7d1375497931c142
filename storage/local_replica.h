// LocalReplica: this machine's copy of a replicated store, and how far it has come in the log.
//
//   LocalReplica replica(base);
//   Status s = replica.Load();
//   if (!replica.seeded()) s = replica.Seed(log, checkpoint, stop);
//   if (s.ok()) s = replica.CatchUp(log);           // Or Apply, with what a LogFollower reports.
//
// Invariant: the copy has the effects of exactly the groups up to position().sequence, at every
// instant, on disk too: a group's rows and the position are in one write. So a copy is never ahead
// of the log, and a replica that was killed, or that owned the store, only has to go on.
//
// What its last owner had acknowledged at kProcess, and had not appended to the log yet, is kept
// aside (AheadRecord). It is right as long as nobody else has appended: the next ownership of this
// replica begins with it. The first group of another epoch makes it void. (The groups of its own
// epoch that follow are a part of it: rows that are written twice are as if they were written
// once.)
//
// Thread-compatible.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "storage/records.h"
#include "storage/storage.h"
#include "wq/replicated_log.h"
#include "wq/status.h"

namespace wq::storage {

class GroupReader;

class LocalReplica {
 public:
  // `base` is borrowed: the copy.
  explicit LocalReplica(Storage* base);
  ~LocalReplica();
  LocalReplica(const LocalReplica&) = delete;
  LocalReplica& operator=(const LocalReplica&) = delete;

  // Reads the position. NotFound: the store is not a replica.
  Status Load();
  // Makes the store a replica that has nothing of the log. `seeded`: it is the store of which the
  // log will be.
  Status Begin(bool seeded);

  const ReplicationRecord& position() const { return position_; }
  bool seeded() const { return position_.seeded; }
  // Of the first entry that Apply has to be called with.
  LogSequence next() const;
  // Whether a group has begun of which more has to come.
  bool unfinished() const;

  // Applies the groups that are complete. Corruption: an entry is damaged, or is not the next one.
  Status Apply(std::span<const LogEntry> entries);
  // After a failed write to the copy: opens it anew.
  Status Recover();
  // Reads and applies all that the log has. NotFound: the next entry was truncated: the replica
  // needs a checkpoint.
  Status CatchUp(ReplicatedLog* log);
  // Forgets a group that has begun: its owner ended, and the next one has erased it.
  void DropUnfinished();

  // After an ownership of this replica: reads the position anew, and keeps aside what the process
  // log has and the store lacks. After an error Recover does it.
  Status EndOwnership();
  // What the first group of an ownership of this replica has to have; empty: nothing.
  const std::string& ahead() const { return ahead_.mutations; }

  // Appends the position {epoch, sequence} to the batch of an owner's group, and notes it. The
  // owner calls it for each group that the log has, writes the batch to the copy, and then calls
  // Advance.
  void PutPosition(uint64_t epoch, LogSequence sequence, MutationBatch* batch) const;
  void Advance(uint64_t epoch, LogSequence sequence);

  // Becomes the copy of a checkpoint. A crash in between leaves a replica that is not seeded; a
  // damaged checkpoint costs nothing of the present copy.
  //   NotFound      the checkpoint was replaced meanwhile.
  //   Corruption    a part is damaged; names it.
  //   ShuttingDown  `stop` was set.
  Status Seed(ReplicatedLog* log, const LogCheckpoint& checkpoint, const std::atomic<bool>& stop);

  // Writes the rows of this copy, as they are now, as a checkpoint of the log. *made: what was
  // committed, if Ok. Any thread may call it beside another call that changes rows. Blocks: for a
  // request to the log for each part.
  //   NotOwner, IOError   as ReplicatedLog; the log's checkpoint is the former one, or this one.
  //   ShuttingDown        `stop` was set.
  Status WriteCheckpoint(ReplicatedLog* log, uint64_t epoch, int64_t now_us,
                         const std::atomic<bool>& stop, LogCheckpoint* made) const;

  // --- The steps of Seed (replication/checkpoint.h) ---

  // Erases all rows, so that the copy is empty and not seeded.
  Status Erase();
  // Writes rows of a checkpoint.
  Status WriteRows(MutationBatch& rows) { return WriteBase(rows, /*sync=*/false); }
  // The copy is that of the checkpoint now.
  Status EndSeed(uint64_t epoch, LogSequence sequence);

  Storage* base() const { return base_; }

 private:
  Status Write(MutationBatch* batch, const ReplicationRecord& position);
  Status WriteBase(MutationBatch& batch, bool sync);

  Storage* const base_;
  bool failed_ = false;  // A write to it; until Recover.
  ReplicationRecord position_;
  AheadRecord ahead_;
  std::unique_ptr<GroupReader> group_;
};

}  // namespace wq::storage
