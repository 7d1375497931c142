// ParallelizeUntil: a loop over numbered pieces, run by several threads.
//
//   wq::Status s = wq::ParallelizeUntil(context.stop_token(), 8, nodes.size(), [&](size_t i) {
//     scores[i] = Score(nodes[i]);
//   });
//
// As in Kubernetes client-go (util/workqueue/parallelizer.go). It keeps nothing: thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

#include "wq/status.h"

namespace wq {

// Calls fn(0) to fn(pieces - 1), each once, on at most `workers` threads, of which the caller's is
// one; returns when all of them have ended. A worker takes `chunk` pieces at a time, in ascending
// order; larger chunks cost less for tiny pieces. More workers than chunks are not started, nor are
// more than the system gives. chunk 0 counts as 1. A default-constructed `stop` never stops.
//   Ok               every piece was run, or there was none.
//   ShuttingDown     `stop` was requested before every piece was begun. It is looked at before
//                    each.
//   InvalidArgument  no workers or no fn: nothing was run. Or fn threw: the message names the piece
//                    and has the text of the first exception. Pieces begun by then were run to
//                    their end, the others not at all.
// Blocks: for the pieces.
Status ParallelizeUntil(const std::stop_token& stop, size_t workers, size_t pieces,
                        const std::function<void(size_t piece)>& fn, size_t chunk = 1);

}  // namespace wq
