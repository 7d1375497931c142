// A clock that Go sets, and that the threads of the library read without a call into Go.
// Threading: thread-safe.
#pragma once

#include <stdlib.h>
#include <wq/wq.h>

#include "metrics.h"

typedef struct wqgo_clock {
  int64_t steady_us;  // Both are accessed atomically.
  int64_t wall_us;
} wqgo_clock;

static inline int64_t wqgo_steady_us(void* clock) {
  return __atomic_load_n(&((wqgo_clock*)clock)->steady_us, __ATOMIC_SEQ_CST);
}
static inline int64_t wqgo_wall_us(void* clock) {
  return __atomic_load_n(&((wqgo_clock*)clock)->wall_us, __ATOMIC_SEQ_CST);
}
static inline void wqgo_advance(wqgo_clock* clock, int64_t us) {
  __atomic_fetch_add(&clock->steady_us, us, __ATOMIC_SEQ_CST);
  __atomic_fetch_add(&clock->wall_us, us, __ATOMIC_SEQ_CST);
}

static inline void wqgo_install_clock(wq_store_options* options, wqgo_installed* installed,
                                      wqgo_clock* clock) {
  installed->clock.size = sizeof installed->clock;
  installed->clock.steady_us = wqgo_steady_us;
  installed->clock.wall_us = wqgo_wall_us;
  installed->clock.arg = clock;
  options->clock = &installed->clock;
}
