// A loop over numbered pieces, run by several threads, in C. Begin with wq/wq.h; details are in
// wq/parallelize.h.
//
//   static int32_t score(void* arg, size_t piece) { … return 1; }
//   code = wq_parallelize_until(8, node_count, 0, score, nodes, &error);
//
// Thread-safe.
#pragma once

#include "wq/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Runs one piece. Returns 0 to stop the loop: pieces that have not begun are not run.
typedef int32_t (*wq_piece)(void* arg, size_t piece);

// Calls run(arg, 0) to run(arg, pieces - 1), each once, on at most `workers` threads, one of which
// is the caller's. A worker takes `chunk` pieces at a time (0: 1), in ascending order.
// WQ_SHUTTING_DOWN: a piece stopped the loop. WQ_INVALID_ARGUMENT: `workers` is 0, or `run` is
// NULL; nothing was run. Blocks: until all pieces have ended.
WQ_EXPORT wq_code wq_parallelize_until(size_t workers, size_t pieces, size_t chunk, wq_piece run,
                                       void* arg, wq_error* error);

#ifdef __cplusplus
}
#endif
