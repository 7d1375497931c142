// RestoreQueue: rebuilds a queue's state from its records in the store.
#pragma once

#include "engine/state/queue_state.h"
#include "storage/records.h"

namespace wq {

// Reads every record of queue `id` into `state`. Keys that were dirty or processing become queued,
// each once, in the order of their sequences; so a key that was processing is before the keys that
// were queued behind it in its lane. Does not write, so a crash during recovery changes nothing.
// Blocks: for reading all records. Corruption: the records contradict each other. REQUIRES: `state`
// is new.
Status RestoreQueue(const storage::Reader& reader, storage::QueueId id, Time now,
                    QueueState* state);

}  // namespace wq
