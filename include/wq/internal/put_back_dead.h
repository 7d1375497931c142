// PutBackDead: gives back a key whose worker has ended without a goodbye. Internal to the server,
// which sees the ends of workers; this header is not installed.
#pragma once

#include <string_view>

#include "wq/queue.h"
#include "wq/status.h"

namespace wq {

// As Queue::PutBack. But from the second such end in a row on, the key comes back behind what waits
// in its lane, so that a key that crashes its workers does not keep them from the others; and each
// third one counts as a failure of the key, with the delay of the limiter and QueueOptions::
// max_requeues. No call waits for the disk. A Done, a Remove, a quarantine and a restart of the
// queue end the row.
// *failed: whether it counted one.
Status PutBackDead(Queue* queue, std::string_view key, bool* failed);

}  // namespace wq
