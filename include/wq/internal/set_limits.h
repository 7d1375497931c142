// SetLimits: changes the limits of an open queue. Internal to wqctl, which takes them from its file
// anew at SIGHUP; this header is not installed.
#pragma once

#include "wq/options.h"
#include "wq/queue.h"
#include "wq/status.h"

namespace wq {

// From now on, and until the queue is opened the next time, these limits count in place of
// QueueOptions::limits and group_limits. Keys that workers hold beyond a new bound stay with them.
// O(groups), and O(keys) if the queue had no limits. InvalidArgument: they are out of range.
Status SetLimits(Queue* queue, const GroupLimits& of_queue, const GroupLimits& of_groups);

}  // namespace wq
