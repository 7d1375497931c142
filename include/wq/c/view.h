// Views, in C: reading a store without owning or changing it, also beside its owner. Begin with
// wq/wq.h; details are in wq/store_view.h. Times are microseconds since 1970-01-01T00:00:00Z. A
// view shows the store as it was on disk when the view was opened. Calls with one handle wait for
// each other; a visitor must not call with the handle of its view. It may return 0 to stop: WQ_OK.
#pragma once

#include "wq/c/base.h"
#include "wq/c/entry.h"
#include "wq/c/limits.h"

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
  int64_t owner_pid;       // Of the last owner; 0: the store was never owned.
  int32_t owner_alive;     // 1: it owns the store now.
  int64_t snapshot_at_us;  // When the snapshot was taken; 0: this is no snapshot.
  int64_t opened_at_us;    // When the owner opened the store; 0: unknown.
  int64_t written_at_us;   // When a file of the store was last written; 0: unknown.
  uint64_t wal_bytes;      // Not 0 without a living owner: the last owner did not close the store.
  uint64_t process_log_bytes;  // Of the process log's file; 0: there is none.
} wq_store_info;
WQ_EXPORT wq_code wq_view_info(wq_view view, wq_store_info* info, wq_error* error);

// Sorted, as a key list.
WQ_EXPORT wq_code wq_view_queue_names(wq_view view, wq_bytes* names, wq_error* error);

typedef struct wq_queue_summary {
  size_t size;
  uint64_t pending;
  uint64_t other_lanes;  // Pending keys in lanes beyond the first 10 000.
  uint64_t delayed;
  uint64_t failing;
  uint64_t quarantined;
  int32_t paused;
  int64_t paused_until_us;     // -1: until it is resumed.
  int64_t oldest_added_at_us;  // -1: nothing is pending.
  int64_t next_ready_at_us;    // -1: nothing is delayed.
  uint32_t shards;
  uint64_t groups;
  uint64_t group_error;  // See wq/queue_summary.h.
  uint64_t other_cursors;
  // Histograms: element i counts the values above bound i - 1, up to and including bound i; the
  // last element counts the values above all bounds. The bounds are kAgeBoundsUs, ... in
  // wq/queue_summary.h.
  uint64_t ages[9];            // Of pending keys: the time since they were added.
  uint64_t due[9];             // Of delayed keys: the time until they are due.
  uint64_t delays[9];          // Of delayed keys: the delay that was asked for.
  uint64_t failure_counts[6];  // Of failing keys.
} wq_queue_summary;
// The lists of a summary; a NULL callback is not called. `top_failing`, `top_groups` and
// `top_oldest` are their lengths; 0 is 10.
typedef struct wq_summary_visitor {
  size_t size;
  void* arg;
  size_t top_failing;
  size_t top_groups;
  void (*lane)(void* arg, int32_t lane, uint64_t pending);  // In the order of handing out.
  void (*failing)(void* arg, const char* key, size_t key_size, const wq_failures* failures);
  void (*group)(void* arg, const char* group, size_t group_size, uint64_t pending);
  void (*cursor)(void* arg, const char* name, uint64_t value_size);
  size_t top_oldest;
  void (*oldest)(void* arg, const char* key, size_t key_size, int64_t added_at_us);
  // As `group`, but the group is the part of the key before its first "/".
  void (*name_space)(void* arg, const char* name, size_t name_size, uint64_t pending);
  int64_t now_us;  // Ages are counted until this time. 0: now.
} wq_summary_visitor;
// `visitor` may be NULL. WQ_NOT_FOUND: no such queue.
WQ_EXPORT wq_code wq_view_summarize(wq_view view, const char* queue, wq_queue_summary* summary,
                                    const wq_summary_visitor* visitor, wq_error* error);

typedef int32_t (*wq_visit_entry)(void* arg, const wq_entry* entry);
// Every entry: pending, delayed, failing, quarantined.
WQ_EXPORT wq_code wq_view_entries(wq_view view, const char* queue, wq_visit_entry visit, void* arg,
                                  wq_error* error);
// Only the entries in the states whose bits (1 << WQ_DELAYED, ...) are set. Does not read the
// others, except for WQ_FAILING, which has to read pending and delayed entries.
WQ_EXPORT wq_code wq_view_entries_in(wq_view view, const char* queue, uint32_t states,
                                     wq_visit_entry visit, void* arg, wq_error* error);
WQ_EXPORT wq_code wq_view_quarantined(wq_view view, const char* queue, wq_visit_entry visit,
                                      void* arg, wq_error* error);
// The entries of one key. WQ_NOT_FOUND: it has none.
WQ_EXPORT wq_code wq_view_find(wq_view view, const char* queue, const char* key, size_t key_size,
                               wq_visit_entry visit, void* arg, wq_error* error);
// The same for the keys of a key list, which must differ, in about the time of one key. Keys
// without an entry are left out.
WQ_EXPORT wq_code wq_view_find_all(wq_view view, const char* queue, const char* list,
                                   size_t list_size, wq_visit_entry visit, void* arg,
                                   wq_error* error);
// The number of keys that are handed out before a pending key if lanes are served strictly one
// after the other. Counts up to max_counted keys; if that suffices *at_least and *at_most are
// equal. WQ_NOT_FOUND: the key is not pending.
WQ_EXPORT wq_code wq_view_position_of(wq_view view, const char* queue, const char* key,
                                      size_t key_size, uint64_t max_counted, uint64_t* at_least,
                                      uint64_t* at_most, wq_error* error);

typedef int32_t (*wq_visit_failing)(void* arg, const char* key, size_t key_size,
                                    const wq_failures* failures);
WQ_EXPORT wq_code wq_view_failing(wq_view view, const char* queue, wq_visit_failing visit,
                                  void* arg, wq_error* error);

// The info of the queue, in one call of `visit`.
typedef void (*wq_visit_queue_info)(void* arg, const wq_queue_info* info);
WQ_EXPORT wq_code wq_view_queue_info(wq_view view, const char* queue, wq_visit_queue_info visit,
                                     void* arg, wq_error* error);

WQ_EXPORT wq_code wq_view_cursors(wq_view view, const char* queue, wq_visit_cursor visit, void* arg,
                                  wq_error* error);
// The limits that were set by wq_queue_set_limits, sorted by group.
WQ_EXPORT wq_code wq_view_limits(wq_view view, const char* queue, wq_visit_limits visit, void* arg,
                                 wq_error* error);

#ifdef __cplusplus
}
#endif
