// Visitors that write the results of C calls as one key list for Go: a fixed number of parts for
// each visit, numbers as 8 bytes in this machine's byte order. So C does not call Go.
// Threading: as wq/wq.h.
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

static inline int32_t wqgo_visit_source(void* arg, const wq_source_info* source) {
  wqgo_visits* const visits = (wqgo_visits*)arg;
  wqgo_put(visits, source->name, strlen(source->name));
  wqgo_put_number(visits, (int64_t)source->objects);
  wqgo_put_number(visits, (int64_t)source->unchanged);
  wqgo_put_number(visits, (int64_t)source->changed);
  wqgo_put_number(visits, (int64_t)source->deleted);
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

// Writes (name, objects, unchanged, changed, deleted) of each source.
static inline wq_code wqgo_sources(wq_queue queue, wq_bytes* list, wq_error* error) {
  wqgo_visits visits = wqgo_begin(list);
  return wqgo_end(wq_queue_sources(queue, wqgo_visit_source, &visits, error), &visits, error);
}

// Writes (key, last error, failures, quarantined at) of each quarantined key.
static inline wq_code wqgo_quarantined(wq_queue queue, wq_bytes* list, wq_error* error) {
  wqgo_visits visits = wqgo_begin(list);
  return wqgo_end(wq_queue_quarantined(queue, wqgo_visit_quarantined, &visits, error), &visits,
                  error);
}

// Writes (key, group, lane) of each queued key.
static inline wq_code wqgo_list(wq_queue queue, size_t limit, wq_bytes* list, wq_error* error) {
  wqgo_visits visits = wqgo_begin(list);
  return wqgo_end(wq_queue_list(queue, limit, wqgo_visit_queued, &visits, error), &visits, error);
}
