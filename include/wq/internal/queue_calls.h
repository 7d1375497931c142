// Calls on a queue that only the server and wqctl make. Internal: this header is not installed.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "wq/options.h"
#include "wq/queue.h"
#include "wq/status.h"

namespace wq {

// Whether the call has changed the queue. At NotDurable it has, in memory.
inline bool IsApplied(const Status& s) { return s.ok() || s.code() == StatusCode::kNotDurable; }

// From now on, and until the queue is opened the next time, these limits count in place of
// QueueOptions::limits and group_limits. Keys that workers hold beyond a new bound stay with them.
// O(groups), and O(keys) if the queue had no limits. InvalidArgument: they are out of range.
Status SetLimits(Queue* queue, const GroupLimits& of_queue, const GroupLimits& of_groups);

// As Queue::PutBack, of a key whose worker has ended without a goodbye. But from the second such
// end in a row on, the key comes back behind what waits in its lane, so that a key that crashes its
// workers does not keep them from the others; and each third one counts as a failure of the key,
// with the delay of the limiter and QueueOptions::max_requeues: then *failed is true. No call waits
// for the disk. A Done, a Remove, a quarantine and a restart of the queue end the row.
Status PutBackDead(Queue* queue, std::string_view key, bool* failed);
// Whether that would take the key, which a worker holds, behind others.
bool DiedBefore(Queue* queue, std::string_view key);

// From now on the metrics count the work on these keys; until then they count from the hand-out.
// Keys that no worker holds are ignored. Costs nothing in a store without metrics.
void NoteStarted(Queue* queue, std::span<const std::string> keys);

}  // namespace wq
