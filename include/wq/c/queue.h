// Queues, in C. Begin with wq/wq.h; wq/queue.h describes the states of a key and the effect of each
// call.
//
// Every changing call may also return WQ_SHUTTING_DOWN (nothing changed) and WQ_NOT_DURABLE
// (applied in memory, but the store has failed), and blocks for at most one write, depending on the
// durability.
//
// Ready. A program with many waiting workers and few threads (an event loop, another language's
// scheduler) does not block in wq_queue_get, but calls it with timeout 0. Such a call that returns
// WQ_TIMED_OUT requests one notification, which is sent when another call may succeed, or when the
// queue shuts down. It makes the descriptor of wq_queue_ready_fd readable. It may be sent for a key
// that another worker then gets, and one notification may cover any number of calls and keys: after
// it, call until WQ_TIMED_OUT again.
//
//   for (;;) {                                                   // one thread for all workers
//     while (wq_queue_get_batch(queue, 64, 0, &keys, NULL, &count, NULL) == WQ_OK) hand_out(&keys);
//     poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1);
//     read(fd, &eight_bytes, 8);
//   }
#pragma once

#include "wq/c/base.h"
#include "wq/c/options.h"

#ifdef __cplusplus
extern "C" {
#endif

// The effect of an Add.
enum {
  WQ_ADDED = 0,
  WQ_DEDUPLICATED = 1,  // It was dirty already, or delayed no later.
  WQ_HELD = 2           // It is quarantined.
};

// --- Adding. `options` and `outcome` may be NULL ---

WQ_EXPORT wq_code wq_queue_add(wq_queue queue, const char* key, size_t key_size,
                               const wq_add_options* options, int32_t* outcome, wq_error* error);
// delay_us <= 0 is wq_queue_add.
WQ_EXPORT wq_code wq_queue_add_after(wq_queue queue, const char* key, size_t key_size,
                                     int64_t delay_us, const wq_add_options* options,
                                     int32_t* outcome, wq_error* error);
// Counts a failure with its text (NULL, 0: no text), and adds the key after the limiter's delay.
WQ_EXPORT wq_code wq_queue_add_rate_limited(wq_queue queue, const char* key, size_t key_size,
                                            const char* failure, size_t failure_size,
                                            const wq_add_options* options, int32_t* outcome,
                                            wq_error* error);

typedef struct wq_refused {
  size_t index;  // The index of the key in the list.
  wq_code code;
} wq_refused;
typedef struct wq_batch_result {
  size_t size;
  size_t added;
  size_t deduplicated;
  size_t held;
  size_t refused;            // Empty and oversized keys; all others are added.
  wq_refused* refused_keys;  // Receives the first refused_capacity refused keys. May be NULL.
  size_t refused_capacity;
} wq_batch_result;
// Adds all keys of a key list (wq/c/base.h), and waits once for their durability. `result` may be
// NULL.
WQ_EXPORT wq_code wq_queue_add_batch(wq_queue queue, const char* list, size_t list_size,
                                     const wq_add_options* options, wq_batch_result* result,
                                     wq_error* error);

// --- Removing keys and ending delays. WQ_NOT_FOUND: the key is not dirty, or not delayed ---

WQ_EXPORT wq_code wq_queue_remove(wq_queue queue, const char* key, size_t key_size,
                                  wq_error* error);
WQ_EXPORT wq_code wq_queue_cancel_delay(wq_queue queue, const char* key, size_t key_size,
                                        wq_error* error);

// Ends the delay of the key now: the key is added, as when its delay is due.
WQ_EXPORT wq_code wq_queue_end_delay(wq_queue queue, const char* key, size_t key_size,
                                     wq_error* error);

// Deletes all that the queue has of the key, in whatever state it is. A worker that holds it keeps
// it until wq_queue_done. WQ_NOT_FOUND: the queue has nothing of the key.
WQ_EXPORT wq_code wq_queue_delete(wq_queue queue, const char* key, size_t key_size,
                                  wq_error* error);

// --- Failures ---

WQ_EXPORT wq_code wq_queue_forget(wq_queue queue, const char* key, size_t key_size,
                                  wq_error* error);
WQ_EXPORT wq_code wq_queue_num_requeues(wq_queue queue, const char* key, size_t key_size,
                                        uint64_t* requeues, wq_error* error);

// --- Handing out ---

#define WQ_FOREVER INT64_C(-1)  // No timeout; so is every negative value.

// Hands out the next key, which is processing until wq_queue_done. WQ_TIMED_OUT: no key within
// timeout_us of real time; 0 does not block, see Ready. WQ_SHUTTING_DOWN: the queue will hand out
// no more keys. Blocks.
WQ_EXPORT wq_code wq_queue_get(wq_queue queue, int64_t timeout_us, wq_bytes* key, wq_error* error);
// Hands out all keys that are available, at most max_keys, as a key list. Waits only for the first
// key. lanes[i] is the lane from which key i was handed out; `lanes` has room for max_keys. `lanes`
// and `count` may be NULL.
WQ_EXPORT wq_code wq_queue_get_batch(wq_queue queue, size_t max_keys, int64_t timeout_us,
                                     wq_bytes* list, int32_t* lanes, size_t* count,
                                     wq_error* error);

// Ends the processing of the key. WQ_NOT_PROCESSING: no worker holds it.
WQ_EXPORT wq_code wq_queue_done(wq_queue queue, const char* key, size_t key_size, wq_error* error);
// wq_queue_done for all keys of a key list. WQ_NOT_PROCESSING: some keys were not processing; their
// number is *not_processing (may be NULL), and all other keys are done. A failure with any other
// code but WQ_NOT_DURABLE ends the call at its key.
WQ_EXPORT wq_code wq_queue_done_batch(wq_queue queue, const char* list, size_t list_size,
                                      size_t* not_processing, wq_error* error);

// *again is 1 if the key, held by a worker, was added again since it was handed out, else 0.
WQ_EXPORT wq_code wq_queue_added_again(wq_queue queue, const char* key, size_t key_size,
                                       int32_t* again, wq_error* error);

// A new descriptor that becomes readable with each notification (an eventfd: read 8 bytes; it is
// non-blocking and close-on-exec). The caller closes it.
WQ_EXPORT wq_code wq_queue_ready_fd(wq_queue queue, int* fd, wq_error* error);

// --- Shards: a queue with shards hands out keys to its workers only ---

WQ_EXPORT wq_code wq_queue_join(wq_queue queue, wq_worker* worker, wq_error* error);
// As the calls of the queue with these names, from the shards of the worker. One call of a worker
// at a time.
WQ_EXPORT wq_code wq_worker_get(wq_worker worker, int64_t timeout_us, wq_bytes* key,
                                wq_error* error);
WQ_EXPORT wq_code wq_worker_get_batch(wq_worker worker, size_t max_keys, int64_t timeout_us,
                                      wq_bytes* list, int32_t* lanes, size_t* count,
                                      wq_error* error);
// Writes the first `capacity` of the worker's shards, ascending; *count is their total number.
WQ_EXPORT wq_code wq_worker_shards(wq_worker worker, uint32_t* shards, size_t capacity,
                                   size_t* count, wq_error* error);
// The other workers get its shards, and the handle is freed. WQ_INVALID_ARGUMENT: a call of the
// worker is under way.
WQ_EXPORT wq_code wq_worker_leave(wq_worker worker, wq_error* error);

// --- Quarantine ---

WQ_EXPORT wq_code wq_queue_quarantine(wq_queue queue, const char* key, size_t key_size,
                                      const char* failure, size_t failure_size, wq_error* error);
WQ_EXPORT wq_code wq_queue_release(wq_queue queue, const char* key, size_t key_size,
                                   wq_error* error);
// The key is delayed for delay_us, and added then. 0 or less: at once.
WQ_EXPORT wq_code wq_queue_release_after(wq_queue queue, const char* key, size_t key_size,
                                         int64_t delay_us, wq_error* error);
WQ_EXPORT wq_code wq_queue_drop(wq_queue queue, const char* key, size_t key_size, wq_error* error);
// *quarantined is 1 or 0.
WQ_EXPORT wq_code wq_queue_is_quarantined(wq_queue queue, const char* key, size_t key_size,
                                          int32_t* quarantined, wq_error* error);

// --- Cursors: names are C strings, 1 to 64 of [A-Za-z0-9._-] ---

WQ_EXPORT wq_code wq_queue_set_cursor(wq_queue queue, const char* name, const char* value,
                                      size_t value_size, wq_error* error);
WQ_EXPORT wq_code wq_queue_get_cursor(wq_queue queue, const char* name, wq_bytes* value,
                                      wq_error* error);
WQ_EXPORT wq_code wq_queue_erase_cursor(wq_queue queue, const char* name, wq_error* error);

// --- Pausing ---

// duration_us 0: until wq_queue_resume.
WQ_EXPORT wq_code wq_queue_pause(wq_queue queue, int64_t duration_us, wq_error* error);
WQ_EXPORT wq_code wq_queue_resume(wq_queue queue, wq_error* error);

// --- Contents. Visitors are called without a lock; they may return 0 to stop: WQ_OK ---

typedef struct wq_counts {
  size_t size;
  size_t queued;
  size_t processing;
  size_t delayed;
  size_t failing;  // Without the quarantined keys.
  size_t quarantined;
  int32_t paused;
  // Events since the queue was opened; differences give rates.
  uint64_t adds;      // A key became dirty.
  uint64_t dones;     // A worker was done with a key.
  uint64_t failures;  // wq_queue_add_rate_limited counted a failure.
  size_t stuck;       // Of those processing: held for longer than stuck_after_us.
  uint64_t full;      // Events: an Add found the queue full.
  size_t held_back;   // Of those queued: limits forbid to hand them out now.
  size_t resyncs;     // Of those delayed: they wait for their resync.
} wq_counts;
WQ_EXPORT wq_code wq_queue_len(wq_queue queue, size_t* queued, wq_error* error);
WQ_EXPORT wq_code wq_queue_counts(wq_queue queue, wq_counts* counts, wq_error* error);

// The first queued keys in the order of handing out: at most `limit`, at most 1000, and no more
// when their bytes are 256 KiB.
typedef struct wq_queued_key {
  const char* key;
  size_t key_size;
  int32_t lane;
  const char* group;
  size_t group_size;  // 0: none.
} wq_queued_key;
typedef int32_t (*wq_visit_queued)(void* arg, const wq_queued_key* key);
WQ_EXPORT wq_code wq_queue_list(wq_queue queue, size_t limit, wq_visit_queued visit, void* arg,
                                wq_error* error);
// The number of keys of its shard that would be handed out before this key: see Queue::PositionOf.
// Takes time in proportion to all keys. WQ_NOT_FOUND: it is not queued.
WQ_EXPORT wq_code wq_queue_position_of(wq_queue queue, const char* key, size_t key_size,
                                       size_t* position, wq_error* error);

typedef struct wq_quarantined_key {
  const char* key;
  size_t key_size;
  uint64_t failures;
  const char* last_error;
  size_t last_error_size;
  int64_t quarantined_at_us;  // Since 1970-01-01T00:00:00Z.
} wq_quarantined_key;
typedef int32_t (*wq_visit_quarantined)(void* arg, const wq_quarantined_key* key);
WQ_EXPORT wq_code wq_queue_quarantined(wq_queue queue, wq_visit_quarantined visit, void* arg,
                                       wq_error* error);

// Visits why a key needs work: if a worker holds it, the causes with which it was handed out,
// otherwise those of the next hand-out. `reason` and `trace_parent` may be "". *left_out, unless
// left_out is NULL: at least so many Adds had another cause. WQ_NOT_FOUND: the key is neither
// dirty, held nor delayed.
typedef int32_t (*wq_visit_cause)(void* arg, const char* reason, const char* trace_parent);
WQ_EXPORT wq_code wq_queue_causes(wq_queue queue, const char* key, size_t key_size,
                                  wq_visit_cause visit, void* arg, uint64_t* left_out,
                                  wq_error* error);

WQ_EXPORT wq_code wq_queue_cursors(wq_queue queue, wq_visit_cursor visit, void* arg,
                                   wq_error* error);

// --- Shutting down ---

WQ_EXPORT wq_code wq_queue_shut_down(wq_queue queue, wq_error* error);
// WQ_OK: no key is processing and none would be handed out. A paused queue keeps its queued keys,
// and every queue its delayed ones. WQ_TIMED_OUT: the queue was not drained in time.
// WQ_SHUTTING_DOWN: another shut-down ended the drain. Blocks.
WQ_EXPORT wq_code wq_queue_shut_down_with_drain(wq_queue queue, int64_t timeout_us,
                                                wq_error* error);
WQ_EXPORT wq_code wq_queue_stop(wq_queue queue, wq_error* error);
// *shutting_down is 1 or 0.
WQ_EXPORT wq_code wq_queue_is_shutting_down(wq_queue queue, int32_t* shutting_down,
                                            wq_error* error);
WQ_EXPORT wq_code wq_queue_flush(wq_queue queue, int32_t durability, wq_error* error);

#ifdef __cplusplus
}
#endif
