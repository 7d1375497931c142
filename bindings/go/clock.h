// A store's clock, which Go sets, and which the threads of the library read without a call into Go.
// Thread-safe.
#pragma once

#include <stdlib.h>
#include <wq/wq.h>

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

static inline void wqgo_install_clock(wq_clock* to, wqgo_clock* clock) {
  to->size = sizeof *to;
  to->steady_us = wqgo_steady_us;
  to->wall_us = wqgo_wall_us;
  to->arg = clock;
}
