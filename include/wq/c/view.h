// Views, in C: looking into a store without owning it and without changing one byte of it, beside its
// owner too. Begin with wq/wq.h; more in wq/store_view.h. Times are microseconds since
// 1970-01-01T00:00:00Z. A view sees the store as it was on disk when it was opened. Calls of one view
// wait for each other; its visitors may not call it. They return 0 to stop, then the code is WQ_OK.
#pragma once

#include "wq/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

WQ_EXPORT wq_code wq_view_open(const char* dir, wq_view* view, wq_error* error);
// Blocks: until calls that are under way have returned.
WQ_EXPORT wq_code wq_view_free(wq_view view, wq_error* error);

typedef struct wq_store_info {
  size_t size;
  char uuid[40];  // Ends with a NUL.
  uint32_t format_version;
  int64_t created_at_us;
  int64_t owner_pid;    // Of the last owner; 0 if there never was one.
  int32_t owner_alive;  // 1 if it holds the store now.
} wq_store_info;
WQ_EXPORT wq_code wq_view_info(wq_view view, wq_store_info* info, wq_error* error);

// Sorted, as a key list.
WQ_EXPORT wq_code wq_view_queue_names(wq_view view, wq_bytes* names, wq_error* error);

typedef struct wq_failures {
  uint64_t count;
  int64_t first_at_us;
  int64_t last_at_us;
  const char* last_error;
  size_t last_error_size;
} wq_failures;

typedef struct wq_queue_summary {
  size_t size;
  uint64_t pending;
  uint64_t other_lanes;  // Pending keys of lanes beyond the first 10 000.
  uint64_t delayed;
  uint64_t failing;
  uint64_t quarantined;
  int32_t paused;
  int64_t paused_until_us;     // -1: until it is resumed.
  int64_t oldest_added_at_us;  // -1: nothing is pending.
  int64_t next_ready_at_us;    // -1: nothing is delayed.
  uint32_t shards;
  uint64_t groups;
  uint64_t group_error;  // See wq/store_view.h.
  uint64_t other_cursors;
} wq_queue_summary;
// The lists of a summary; a NULL is left out. `top_failing`, `top_groups`: 0 is 10.
typedef struct wq_summary_visitor {
  size_t size;
  void* arg;
  size_t top_failing;
  size_t top_groups;
  void (*lane)(void* arg, int32_t lane, uint64_t pending);  // In hand-out order.
  void (*failing)(void* arg, const char* key, size_t key_size, const wq_failures* failures);
  void (*group)(void* arg, const char* group, size_t group_size, uint64_t pending);
  void (*cursor)(void* arg, const char* name, uint64_t value_size);
} wq_summary_visitor;
// `visitor` may be NULL. WQ_NOT_FOUND: no such queue.
WQ_EXPORT wq_code wq_view_summarize(wq_view view, const char* queue, wq_queue_summary* summary,
                                    const wq_summary_visitor* visitor, wq_error* error);

enum { WQ_PENDING = 0, WQ_DELAYED = 1, WQ_FAILING = 2, WQ_QUARANTINED = 3 };

// Which fields count for which state is told in wq/store_view.h.
typedef struct wq_entry {
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
typedef int32_t (*wq_visit_entry)(void* arg, const wq_entry* entry);
// Every entry: pending, delayed, failing, quarantined.
WQ_EXPORT wq_code wq_view_entries(wq_view view, const char* queue, wq_visit_entry visit, void* arg,
                                  wq_error* error);
WQ_EXPORT wq_code wq_view_quarantined(wq_view view, const char* queue, wq_visit_entry visit,
                                      void* arg, wq_error* error);
// The entries of one key. WQ_NOT_FOUND: there is none.
WQ_EXPORT wq_code wq_view_find(wq_view view, const char* queue, const char* key, size_t key_size,
                               wq_visit_entry visit, void* arg, wq_error* error);

typedef int32_t (*wq_visit_failing)(void* arg, const char* key, size_t key_size,
                                    const wq_failures* failures);
WQ_EXPORT wq_code wq_view_failing(wq_view view, const char* queue, wq_visit_failing visit,
                                  void* arg, wq_error* error);

WQ_EXPORT wq_code wq_view_cursors(wq_view view, const char* queue, wq_visit_cursor visit, void* arg,
                                  wq_error* error);

#ifdef __cplusplus
}
#endif
