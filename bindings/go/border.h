// The border between Go and C: what a call of the queue's hot path needs, in one crossing. Errors come
// back by value, with a message on the heap, so that a call that succeeds moves nothing. Included by
// the Go files alone, whose cgo knows _GoString_: a string that is passed as it is.
// Threading: as wq/wq.h.
#pragma once

#include <stdlib.h>
#include <string.h>
#include <wq/wq.h>

typedef struct wqgo_result {
  wq_code code;
  int32_t outcome;
  char* message;  // NULL, or the caller's to free.
} wqgo_result;

static inline wqgo_result wqgo_result_of(wq_code code, int32_t outcome, const wq_error* error) {
  const wqgo_result result = {code, outcome, code == WQ_OK ? NULL : strdup(error->message)};
  return result;
}

// wq_add_options without its pointers.
typedef struct wqgo_add_options {
  int32_t has_lane;
  int32_t lane;
  int32_t durability;
  int32_t has_retry_delay;
  int64_t retry_delay_us;
} wqgo_add_options;

static inline wq_add_options wqgo_to_add_options(wqgo_add_options options, _GoString_ group) {
  const wq_add_options all = {.size = sizeof all,
                              .has_lane = options.has_lane,
                              .lane = options.lane,
                              .durability = options.durability,
                              .has_retry_delay = options.has_retry_delay,
                              .retry_delay_us = options.retry_delay_us,
                              .group = _GoStringLen(group) == 0 ? NULL : _GoStringPtr(group),
                              .group_size = _GoStringLen(group)};
  return all;
}

static inline wqgo_result wqgo_add(wq_queue queue, _GoString_ key) {
  wq_error error;
  int32_t outcome = WQ_ADDED;
  const wq_code code =
      wq_queue_add(queue, _GoStringPtr(key), _GoStringLen(key), NULL, &outcome, &error);
  return wqgo_result_of(code, outcome, &error);
}

static inline wqgo_result wqgo_add_after(wq_queue queue, _GoString_ key, int64_t delay_us,
                                         wqgo_add_options options, _GoString_ group) {
  const wq_add_options all = wqgo_to_add_options(options, group);
  wq_error error;
  int32_t outcome = WQ_ADDED;
  const wq_code code = wq_queue_add_after(queue, _GoStringPtr(key), _GoStringLen(key), delay_us,
                                          &all, &outcome, &error);
  return wqgo_result_of(code, outcome, &error);
}

static inline wqgo_result wqgo_add_rate_limited(wq_queue queue, _GoString_ key, _GoString_ failure,
                                                wqgo_add_options options, _GoString_ group) {
  const wq_add_options all = wqgo_to_add_options(options, group);
  wq_error error;
  int32_t outcome = WQ_ADDED;
  const wq_code code =
      wq_queue_add_rate_limited(queue, _GoStringPtr(key), _GoStringLen(key), _GoStringPtr(failure),
                                _GoStringLen(failure), &all, &outcome, &error);
  return wqgo_result_of(code, outcome, &error);
}

// What a batch did; the refused keys apart.
typedef struct wqgo_batch {
  wqgo_result result;
  size_t added, deduplicated, held, refused;
} wqgo_batch;

static inline wqgo_batch wqgo_add_batch(wq_queue queue, const char* list, size_t list_size,
                                        wqgo_add_options options, _GoString_ group,
                                        wq_refused* refused, size_t refused_capacity) {
  const wq_add_options all = wqgo_to_add_options(options, group);
  wq_batch_result did = {
      .size = sizeof did, .refused_keys = refused, .refused_capacity = refused_capacity};
  wq_error error;
  const wq_code code = wq_queue_add_batch(queue, list, list_size, &all, &did, &error);
  const wqgo_batch batch = {wqgo_result_of(code, WQ_ADDED, &error), did.added, did.deduplicated,
                            did.held, did.refused};
  return batch;
}

static inline wqgo_result wqgo_done(wq_queue queue, _GoString_ key) {
  wq_error error;
  const wq_code code = wq_queue_done(queue, _GoStringPtr(key), _GoStringLen(key), &error);
  return wqgo_result_of(code, 0, &error);
}

static inline wqgo_result wqgo_done_batch(wq_queue queue, const char* list, size_t list_size) {
  wq_error error;
  const wq_code code = wq_queue_done_batch(queue, list, list_size, NULL, &error);
  return wqgo_result_of(code, 0, &error);
}

// Where keys come out: in C's memory, used again and again.
typedef struct wqgo_room {
  wq_bytes bytes;
  size_t count;
} wqgo_room;

// The next key, without waiting; its bytes in `room`.
static inline wqgo_result wqgo_get(wq_queue queue, wqgo_room* room) {
  wq_error error;
  const wq_code code = wq_queue_get(queue, 0, &room->bytes, &error);
  if (code == WQ_TIMED_OUT) {  // Nothing special: no message.
    const wqgo_result none = {code, 0, NULL};
    return none;
  }
  return wqgo_result_of(code, 0, &error);
}

// The same for at most `max` keys: a key list in `room`.
static inline wqgo_result wqgo_get_batch(wq_queue queue, size_t max, wqgo_room* room) {
  wq_error error;
  const wq_code code = wq_queue_get_batch(queue, max, 0, &room->bytes, &room->count, &error);
  if (code == WQ_TIMED_OUT) {
    const wqgo_result none = {code, 0, NULL};
    return none;
  }
  return wqgo_result_of(code, 0, &error);
}
