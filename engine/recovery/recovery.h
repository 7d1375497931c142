// Recovery: a queue's state rebuilt from what is on disk.
#pragma once

#include "engine/state/queue_state.h"
#include "storage/records.h"

namespace wq {

// Reads every record of queue `id` into `state`, which is new: dirty and processing become queued,
// each once, in the order of their sequences, so what was processing comes first in its lane. Reads
// only, so a crash during it changes nothing. Corruption: records that contradict each other.
Status RestoreQueue(const storage::Reader& reader, storage::QueueId id, Time now,
                    QueueState* state);

}  // namespace wq
