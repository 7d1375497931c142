// Entries, in C: one key of a queue in one state, as a store holds it. Views show entries,
// importers write them, diffs compare them. Begin with wq/wq.h; details are in wq/entry.h.
//
//   wq_entry entry = {.size = sizeof entry, .key = "k", .key_size = 1};
//
// An entry that the library passes is valid during the callback. A caller that makes one sets the
// sizes and leaves unused fields 0. Times are microseconds since 1970-01-01T00:00:00Z.
#pragma once

#include "wq/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wq_failures {
  size_t size;
  uint64_t count;
  int64_t first_at_us;
  int64_t last_at_us;
  const char* last_error;
  size_t last_error_size;
} wq_failures;

enum { WQ_PENDING = 0, WQ_DELAYED = 1, WQ_FAILING = 2, WQ_QUARANTINED = 3 };

// wq/entry.h says which fields are used in which state.
typedef struct wq_entry {
  size_t size;
  const char* key;
  size_t key_size;
  int32_t state;
  int32_t lane;
  const char* group;
  size_t group_size;
  int32_t has_shard;
  uint32_t shard;
  uint64_t sequence;
  int64_t added_at_us;
  int64_t ready_at_us;
  int64_t delay_us;
  int64_t quarantined_at_us;
  const wq_failures* failures;  // NULL: none.
} wq_entry;

// The data of a queue other than its entries and cursors.
typedef struct wq_queue_info {
  size_t size;
  const char* name;
  int64_t created_at_us;
  uint64_t sequence_high_water;  // All sequences of keys so far are below it.
  const char* limiter_state;     // Bytes that only the queue's limiter can read.
  size_t limiter_state_size;
  int32_t paused;
  int64_t paused_until_us;  // 0: until it is resumed.
  uint32_t shards;          // Of the last opening with shards.
} wq_queue_info;

#ifdef __cplusplus
}
#endif
