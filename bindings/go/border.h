// The border between Go and C: the queue's frequent calls, each as one call from Go into C. Errors
// are returned by value, with a message on the heap, so that a call that succeeds copies nothing.
// Included by the Go files only, because only cgo knows _GoString_, a string that is passed without
// a copy. Threading: as wq/wq.h.
#pragma once

#include <stdlib.h>
#include <string.h>
#include <wq/wq.h>

typedef struct wqgo_result {
  wq_code code;
  int32_t outcome;
  char* message;  // NULL, or owned by the caller.
} wqgo_result;

static inline wqgo_result wqgo_result_of(wq_code code, int32_t outcome, const wq_error* error) {
  const wqgo_result result = {code, outcome, code == WQ_OK ? NULL : strdup(error->message)};
  return result;
}

// The options with these texts. Go passes them apart: its strings are valid during the call alone.
static inline wq_add_options wqgo_with_texts(wq_add_options options, _GoString_ reason,
                                             _GoString_ trace_parent) {
  options.reason = _GoStringPtr(reason);
  options.reason_size = _GoStringLen(reason);
  options.trace_parent = _GoStringPtr(trace_parent);
  options.trace_parent_size = _GoStringLen(trace_parent);
  return options;
}

// Adds without an outcome, which Queue.Add does not return.
static inline wqgo_result wqgo_add(wq_queue queue, _GoString_ key) {
  wq_error error;
  const wq_code code =
      wq_queue_add(queue, _GoStringPtr(key), _GoStringLen(key), NULL, NULL, &error);
  return wqgo_result_of(code, WQ_ADDED, &error);
}

typedef struct wqgo_observed {
  wqgo_result result;
  wq_observe_result did;
} wqgo_observed;

static inline wqgo_observed wqgo_observe(wq_source source, _GoString_ object, _GoString_ version,
                                         _GoString_ tombstone, const char* keys, size_t keys_size,
                                         int32_t filtered, int32_t deleted, wq_bytes* before,
                                         wq_add_options options, _GoString_ reason,
                                         _GoString_ trace_parent) {
  const wq_add_options all = wqgo_with_texts(options, reason, trace_parent);
  const wq_observation seen = {.size = sizeof seen,
                               .object = _GoStringPtr(object),
                               .object_size = _GoStringLen(object),
                               .version = _GoStringPtr(version),
                               .version_size = _GoStringLen(version),
                               .keys = keys,
                               .keys_size = keys_size,
                               .tombstone = _GoStringPtr(tombstone),
                               .tombstone_size = _GoStringLen(tombstone),
                               .filtered = filtered,
                               .deleted = deleted,
                               .before = before};
  wqgo_observed observed = {.did = {.size = sizeof observed.did}};
  wq_error error;
  const wq_code code = wq_source_observe(source, &seen, &all, &observed.did, &error);
  observed.result = wqgo_result_of(code, 0, &error);
  return observed;
}

static inline wq_code wqgo_begin_list(wq_source source, _GoString_ scope, _GoString_ fingerprint,
                                      wq_source* list, wq_error* error) {
  const wq_list_options options = {.size = sizeof options,
                                   .scope = _GoStringPtr(scope),
                                   .scope_size = _GoStringLen(scope),
                                   .fingerprint = _GoStringPtr(fingerprint),
                                   .fingerprint_size = _GoStringLen(fingerprint)};
  return wq_source_begin_list(source, &options, list, error);
}

static inline wqgo_result wqgo_end_list(wq_source list, wq_add_options options, _GoString_ reason,
                                        _GoString_ trace_parent) {
  const wq_add_options all = wqgo_with_texts(options, reason, trace_parent);
  wq_error error;
  return wqgo_result_of(wq_source_end_list(list, &all, &error), 0, &error);
}

// The kind of an Add.
typedef enum wqgo_how { WQGO_AT_ONCE, WQGO_AFTER, WQGO_RATE_LIMITED } wqgo_how;

static inline wqgo_result wqgo_add_with(wq_queue queue, _GoString_ key, wqgo_how how,
                                        int64_t delay_us, _GoString_ failure,
                                        wq_add_options options, _GoString_ group, _GoString_ reason,
                                        _GoString_ trace_parent) {
  wq_add_options all = wqgo_with_texts(options, reason, trace_parent);
  all.group = _GoStringLen(group) == 0 ? NULL : _GoStringPtr(group);
  all.group_size = _GoStringLen(group);
  const char* const k = _GoStringPtr(key);
  const size_t size = _GoStringLen(key);
  wq_error error;
  int32_t outcome = WQ_ADDED;
  wq_code code = WQ_OK;
  if (how == WQGO_RATE_LIMITED) {
    code = wq_queue_add_rate_limited(queue, k, size, _GoStringPtr(failure), _GoStringLen(failure),
                                     &all, &outcome, &error);
  } else if (how == WQGO_AFTER) {
    code = wq_queue_add_after(queue, k, size, delay_us, &all, &outcome, &error);
  } else {
    code = wq_queue_add(queue, k, size, &all, &outcome, &error);
  }
  return wqgo_result_of(code, outcome, &error);
}

// The result of a batch, without the refused keys.
typedef struct wqgo_batch {
  wqgo_result result;
  size_t added, deduplicated, held, refused;
} wqgo_batch;

static inline wqgo_batch wqgo_add_batch(wq_queue queue, const char* list, size_t list_size,
                                        wq_add_options options, _GoString_ reason,
                                        _GoString_ trace_parent, wq_refused* refused,
                                        size_t refused_capacity) {
  const wq_add_options all = wqgo_with_texts(options, reason, trace_parent);
  wq_batch_result did = {
      .size = sizeof did, .refused_keys = refused, .refused_capacity = refused_capacity};
  wq_error error;
  const wq_code code = wq_queue_add_batch(queue, list, list_size, &all, &did, &error);
  const wqgo_batch batch = {wqgo_result_of(code, WQ_ADDED, &error), did.added, did.deduplicated,
                            did.held, did.refused};
  return batch;
}

// A call that takes only a key.
typedef wq_code (*wqgo_change)(wq_queue, const char*, size_t, wq_error*);

static inline wqgo_result wqgo_change_key(wq_queue queue, _GoString_ key, wqgo_change change) {
  wq_error error;
  const wq_code code = change(queue, _GoStringPtr(key), _GoStringLen(key), &error);
  return wqgo_result_of(code, 0, &error);
}

static inline wqgo_result wqgo_done_batch(wq_queue queue, const char* list, size_t list_size) {
  wq_error error;
  const wq_code code = wq_queue_done_batch(queue, list, list_size, NULL, &error);
  return wqgo_result_of(code, 0, &error);
}

// Receives keys, in C's memory, which is reused.
typedef struct wqgo_buffer {
  wq_bytes bytes;
  size_t count;
} wqgo_buffer;

// What hands out keys: a queue or, if it is set, a worker of a queue with shards.
typedef struct wqgo_getter {
  wq_queue queue;
  wq_worker worker;
  int32_t has_lanes;  // The lanes of keys are wanted.
} wqgo_getter;

// Takes at most `max` keys, without waiting; writes a key list to `buffer`, and the keys' lanes to
// `lanes` unless it is NULL.
static inline wqgo_result wqgo_get(wqgo_getter from, size_t max, wqgo_buffer* buffer,
                                   int32_t* lanes) {
  wq_error error;
  const wq_code code =
      from.worker.handle != 0
          ? wq_worker_get_batch(from.worker, max, 0, &buffer->bytes, lanes, &buffer->count, &error)
          : wq_queue_get_batch(from.queue, max, 0, &buffer->bytes, lanes, &buffer->count, &error);
  const wqgo_result none = {code, 0, NULL};  // Frequent, so without a message.
  return code == WQ_TIMED_OUT ? none : wqgo_result_of(code, 0, &error);
}
