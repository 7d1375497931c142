// Visitors that write the results of C calls as one key list for Go: a fixed number of parts for
// each visit, numbers as 8 bytes in this machine's byte order. So C does not call Go, except
// wqgoEntries, once for many entries. Threading: as wq/wq.h.
#pragma once

#include <string.h>
#include <wq/wq.h>

typedef struct wqgo_visits {
  wq_bytes* list;
  wq_code code;  // Of the first append that failed.
} wqgo_visits;

static inline void wqgo_put(wqgo_visits* visits, const char* data, size_t size) {
  if (visits->code == WQ_OK) {
    visits->code = wq_keys_append(visits->list, data, size, NULL);
  }
}

static inline void wqgo_put_number(wqgo_visits* visits, int64_t number) {
  char bytes[sizeof number];
  memcpy(bytes, &number, sizeof number);
  wqgo_put(visits, bytes, sizeof bytes);
}

static inline int32_t wqgo_visit_cursor(void* arg, const char* name, const char* value,
                                        size_t value_size) {
  wqgo_put((wqgo_visits*)arg, name, strlen(name));
  wqgo_put((wqgo_visits*)arg, value, value_size);
  return 1;
}

// Writes (group, numbers).
static inline int32_t wqgo_visit_limits(void* arg, const char* group, size_t group_size,
                                        const wq_group_limits* limits) {
  int64_t numbers[] = {limits->max_processing, limits->burst, limits->weight, 0};
  memcpy(&numbers[3], &limits->per_second, sizeof limits->per_second);
  wqgo_put((wqgo_visits*)arg, group, group_size);
  wqgo_put((wqgo_visits*)arg, (const char*)numbers, sizeof numbers);
  return 1;
}

static inline int32_t wqgo_visit_cause(void* arg, const char* reason, const char* trace_parent) {
  wqgo_put((wqgo_visits*)arg, reason, strlen(reason));
  wqgo_put((wqgo_visits*)arg, trace_parent, strlen(trace_parent));
  return 1;
}

static inline int32_t wqgo_visit_quarantined(void* arg, const wq_quarantined_key* key) {
  wqgo_visits* const visits = (wqgo_visits*)arg;
  wqgo_put(visits, key->key, key->key_size);
  wqgo_put(visits, key->last_error, key->last_error_size);
  wqgo_put_number(visits, (int64_t)key->failures);
  wqgo_put_number(visits, key->quarantined_at_us);
  return 1;
}

static inline int32_t wqgo_visit_queued(void* arg, const wq_queued_key* key) {
  wqgo_visits* const visits = (wqgo_visits*)arg;
  wqgo_put(visits, key->key, key->key_size);
  wqgo_put(visits, key->group, key->group_size);
  wqgo_put_number(visits, key->lane);
  return 1;
}

static inline wqgo_visits wqgo_begin(wq_bytes* list) {
  const wqgo_visits visits = {list, WQ_OK};
  list->size = 0;
  return visits;
}

// Returns the code of the call; if that is WQ_OK, the code of the list.
static inline wq_code wqgo_end(wq_code code, const wqgo_visits* visits, wq_error* error) {
  if (code == WQ_OK && visits->code != WQ_OK) {
    error->code = visits->code;
    strcpy(error->message, "out of memory");
    return visits->code;
  }
  return code;
}

// Writes (name, value) of each cursor.
static inline wq_code wqgo_causes(wq_queue queue, _GoString_ key, wq_bytes* list,
                                  uint64_t* left_out, wq_error* error) {
  wqgo_visits visits = wqgo_begin(list);
  const wq_code code = wq_queue_causes(queue, _GoStringPtr(key), _GoStringLen(key),
                                       wqgo_visit_cause, &visits, left_out, error);
  return wqgo_end(code, &visits, error);
}

static inline wq_code wqgo_cursors(wq_queue queue, wq_bytes* list, wq_error* error) {
  wqgo_visits visits = wqgo_begin(list);
  return wqgo_end(wq_queue_cursors(queue, wqgo_visit_cursor, &visits, error), &visits, error);
}

// Writes (group, numbers) of each group whose limits were set.
static inline wq_code wqgo_limits(wq_queue queue, wq_bytes* list, wq_error* error) {
  wqgo_visits visits = wqgo_begin(list);
  return wqgo_end(wq_queue_limits(queue, wqgo_visit_limits, &visits, error), &visits, error);
}

// Writes (key, last error, failures, quarantined at) of each quarantined key.
static inline wq_code wqgo_quarantined(wq_queue queue, wq_bytes* list, wq_error* error) {
  wqgo_visits visits = wqgo_begin(list);
  return wqgo_end(wq_queue_quarantined(queue, wqgo_visit_quarantined, &visits, error), &visits,
                  error);
}

// Writes (key, group, lane) of each queued key.
static inline wq_code wqgo_list(wq_queue queue, size_t offset, size_t limit, wq_bytes* list,
                                wq_error* error) {
  wqgo_visits visits = wqgo_begin(list);
  return wqgo_end(wq_queue_list(queue, offset, limit, wqgo_visit_queued, &visits, error), &visits,
                  error);
}

// --- Views ---

// The entries of a view: key, group, last error, and the numbers of wqgo_put_entry. If `sink` is
// not 0, each list of this size is passed to Go, and its memory is reused.
enum { WQGO_FULL = 64 << 10 };
extern int32_t wqgoEntries(uintptr_t sink, char* list, size_t size);  // 0: end the visit.

typedef struct wqgo_entry_visits {
  wqgo_visits visits;  // First, for wqgo_end.
  uintptr_t sink;
} wqgo_entry_visits;

static inline void wqgo_put_entry(wqgo_visits* visits, const wq_entry* entry) {
  const wq_failures none = {.size = sizeof none};
  const wq_failures* const failures = entry->failures == NULL ? &none : entry->failures;
  const int64_t numbers[] = {entry->state,
                             entry->lane,
                             entry->has_shard != 0 ? (int64_t)entry->shard : -1,
                             (int64_t)entry->sequence,
                             entry->added_at_us,
                             entry->ready_at_us,
                             entry->delay_us,
                             entry->quarantined_at_us,
                             entry->failures != NULL,
                             (int64_t)failures->count,
                             failures->first_at_us,
                             failures->last_at_us};
  wqgo_put(visits, entry->key, entry->key_size);
  wqgo_put(visits, entry->group, entry->group_size);
  wqgo_put(visits, failures->last_error, failures->last_error_size);
  wqgo_put(visits, (const char*)numbers, sizeof numbers);
}

static inline int32_t wqgo_visit_entry(void* arg, const wq_entry* entry) {
  wqgo_entry_visits* const all = (wqgo_entry_visits*)arg;
  wq_bytes* const list = all->visits.list;
  wqgo_put_entry(&all->visits, entry);
  if (all->visits.code != WQ_OK) {
    return 0;
  }
  if (all->sink == 0 || list->size < WQGO_FULL) {
    return 1;
  }
  const int32_t more = wqgoEntries(all->sink, list->data, list->size);
  list->size = 0;
  return more;
}

// Passes the entries in these states to `sink`, in lists.
static inline wq_code wqgo_entries(wq_view view, const char* queue, uint32_t states, uintptr_t sink,
                                   wq_bytes* list, wq_error* error) {
  wqgo_entry_visits all = {wqgo_begin(list), sink};
  const wq_code code = wq_view_entries_in(view, queue, states, wqgo_visit_entry, &all, error);
  if (code == WQ_OK && list->size > 0) {
    wqgoEntries(sink, list->data, list->size);
  }
  return wqgo_end(code, &all.visits, error);
}

// Writes the entries of one key to the list.
static inline wq_code wqgo_find(wq_view view, const char* queue, const char* key, size_t key_size,
                                wq_bytes* list, wq_error* error) {
  wqgo_entry_visits all = {wqgo_begin(list), 0};
  const wq_code code = wq_view_find(view, queue, key, key_size, wqgo_visit_entry, &all, error);
  return wqgo_end(code, &all.visits, error);
}

static inline wq_code wqgo_view_cursors(wq_view view, const char* queue, wq_bytes* list,
                                        wq_error* error) {
  wqgo_visits visits = wqgo_begin(list);
  return wqgo_end(wq_view_cursors(view, queue, wqgo_visit_cursor, &visits, error), &visits, error);
}

static inline wq_code wqgo_view_limits(wq_view view, const char* queue, wq_bytes* list,
                                       wq_error* error) {
  wqgo_visits visits = wqgo_begin(list);
  return wqgo_end(wq_view_limits(view, queue, wqgo_visit_limits, &visits, error), &visits, error);
}

// Writes (lane, number of pending keys).
static inline void wqgo_visit_lane(void* arg, int32_t lane, uint64_t pending) {
  wqgo_put_number((wqgo_visits*)arg, lane);
  wqgo_put_number((wqgo_visits*)arg, (int64_t)pending);
}

// Reads the summary; writes its lanes to the list.
static inline wq_code wqgo_summarize(wq_view view, const char* queue, wq_queue_summary* summary,
                                     wq_bytes* list, wq_error* error) {
  wqgo_visits visits = wqgo_begin(list);
  const wq_summary_visitor lists = {.size = sizeof lists, .arg = &visits, .lane = wqgo_visit_lane};
  summary->size = sizeof *summary;
  return wqgo_end(wq_view_summarize(view, queue, summary, &lists, error), &visits, error);
}

// --- Snapshots ---

// Not 0: Go has cancelled the call.
static inline int32_t wqgo_is_cancelled(void* flag) {
  return __atomic_load_n((int32_t*)flag, __ATOMIC_RELAXED);
}
static inline void wqgo_cancel(int32_t* flag) { __atomic_store_n(flag, 1, __ATOMIC_RELAXED); }

static inline wq_code wqgo_snapshot(const char* store, const char* dir, const char* name,
                                    int32_t copy_tables, int32_t* cancelled, wq_bytes* path,
                                    wq_error* error) {
  const wq_snapshot_options options = {.size = sizeof options,
                                       .name = name,
                                       .copy_tables = copy_tables,
                                       .cancelled = wqgo_is_cancelled,
                                       .arg = cancelled};
  return wq_snapshot_create(store, dir, &options, path, error);
}

static inline wq_code wqgo_restore(const char* snapshot, const char* into, int32_t* cancelled,
                                   wq_bytes* from, wq_error* error) {
  const wq_restore_options options = {
      .size = sizeof options, .cancelled = wqgo_is_cancelled, .arg = cancelled};
  return wq_snapshot_restore(snapshot, into, &options, from, error);
}

static inline int32_t wqgo_visit_snapshot(void* arg, const wq_snapshot_info* info) {
  wqgo_visits* const visits = (wqgo_visits*)arg;
  wqgo_put(visits, info->name, strlen(info->name));
  wqgo_put(visits, info->path, strlen(info->path));
  wqgo_put(visits, info->uuid, strlen(info->uuid));
  wqgo_put_number(visits, info->taken_at_us);
  wqgo_put_number(visits, (int64_t)info->bytes);
  wqgo_put_number(visits, (int64_t)info->linked_bytes);
  return 1;
}

static inline wq_code wqgo_snapshots(const char* dir, wq_bytes* list, wq_error* error) {
  wqgo_visits visits = wqgo_begin(list);
  return wqgo_end(wq_snapshot_list(dir, wqgo_visit_snapshot, &visits, error), &visits, error);
}
