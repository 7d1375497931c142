// ParallelizeUntil: runs a loop over numbered pieces on several threads.
//
//   wq::Status s = wq::ParallelizeUntil(context.stop_token(), 8, nodes.size(), [&](size_t i) {
//     scores[i] = Score(nodes[i]);
//   });
//
// As in Kubernetes client-go (util/workqueue/parallelizer.go).
// Threading: thread-safe. Lifetime: `fn` is called during the call only. A crash: it keeps nothing.
#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

#include "wq/status.h"

namespace wq {

// Calls fn(0) to fn(pieces - 1), each once, on at most `workers` threads including the caller's,
// and returns when all of them have ended. A worker takes `chunk` pieces at a time, in ascending
// order; larger chunks cost less for tiny pieces. It starts no more workers than chunks, and no
// more than the system has threads for. chunk 0 counts as 1. A default-constructed `stop` never
// stops.
//   Ok               every piece was run, or `pieces` is 0.
//   ShuttingDown     `stop` was requested before every piece was begun. It is checked before each.
//   InvalidArgument  no workers or no fn: nothing was run. Or fn threw: the message has the piece
//                    and the text of the first exception. Pieces that had begun were run to their
//                    end, the others not at all.
// Blocks: for the pieces.
Status ParallelizeUntil(const std::stop_token& stop, size_t workers, size_t pieces,
                        const std::function<void(size_t piece)>& fn, size_t chunk = 1);

}  // namespace wq
