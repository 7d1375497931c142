// Checkpoints: all rows of a store as they are after one entry of its log, in the log's engine. A
// fresh replica begins there.
//
//   Status s = WriteCheckpoint(snapshot, log, epoch, now_us, stop, &made);
//   s = ReadCheckpoint(log, *state.checkpoint, stop, &replica);
//
// A part is a checksum and the puts of rows (MutationBatch::mutations()), at most kMaxLogEntryBytes
// together. The rows are whole, but for one that is longer than a part: it is in several. The rows
// of the copy itself (IsOfCopy) are left out. Thread-safe for distinct arguments.
#pragma once

#include <atomic>
#include <cstdint>

#include "storage/local_replica.h"
#include "storage/storage.h"
#include "wq/replicated_log.h"
#include "wq/status.h"

namespace wq::storage {

// Writes the rows of `snapshot`, a view of a replica's copy, as a checkpoint of the entry at which
// the snapshot is. *made: what was committed, if Ok.
//   NotOwner, IOError   as ReplicatedLog; the log's checkpoint is the former one, or this one.
//   ShuttingDown        *stop was set.
// Blocks: for a request to the log for each part.
Status WriteCheckpoint(const Reader& snapshot, ReplicatedLog* log, uint64_t epoch, int64_t now_us,
                       const std::atomic<bool>& stop, LogCheckpoint* made);

// Makes `replica` the copy of the checkpoint. A crash in between leaves a replica that is not
// seeded. The parts are all read and checked before a row is erased, so that a damaged checkpoint
// does not cost the present copy.
//   NotFound     the checkpoint was replaced meanwhile.
//   Corruption   a part is damaged; names it.
//   ShuttingDown *stop was set.
Status ReadCheckpoint(ReplicatedLog* log, const LogCheckpoint& checkpoint,
                      const std::atomic<bool>& stop, LocalReplica* replica);

}  // namespace wq::storage
