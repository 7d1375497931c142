// What bounds the hand-outs of a group's keys, or of a queue's, in C. Begin with wq/wq.h; details
// are in wq/options.h (GroupLimits).
//
//   wq_group_limits limits = {.size = sizeof limits, .per_second = 10, .max_processing = 2};
#pragma once

#include "wq/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wq_group_limits {
  size_t size;
  double per_second;        // Hand-outs, at most: 1e-6 to 1e6. 0: no bound.
  uint32_t burst;           // Beyond this rate so many at once: 1 to 1 000 000. 0: 1.
  uint32_t max_processing;  // Keys that workers hold at a time, at most. 0: no bound.
  uint32_t weight;          // The group's share under WQ_ORDER_FAIR: 1 to 1000. 0: 1.
} wq_group_limits;

// Visits the limits that were set for a group or, if `group` is empty, for the queue; returns 0 to
// stop.
typedef int32_t (*wq_visit_limits)(void* arg, const char* group, size_t group_size,
                                   const wq_group_limits* limits);

#ifdef __cplusplus
}
#endif
