// NoteStarted: when work on keys begins that were handed out ahead of it. Internal to the server;
// this header is not installed.
#pragma once

#include <span>
#include <string>

#include "wq/queue.h"

namespace wq {

// From now on the metrics count the work on these keys; until then they count from the hand-out.
// Keys that no worker holds are ignored. Costs nothing in a store without metrics.
void NoteStarted(Queue* queue, std::span<const std::string> keys);

}  // namespace wq
