// Controllers, in C: workers that take keys from a queue and reconcile them. Begin with wq/wq.h; what
// becomes of a key by what a reconcile says is told in wq/controller.h.
//
//   static void reconcile(void* arg, const wq_reconcile* call, wq_reconcile_result* result) {
//     if (make_it_so(call->key, call->key_size) != 0) {
//       result->kind = WQ_RECONCILE_ERROR;  // Retried, later and later.
//       snprintf(result->failure, sizeof result->failure, "%s", why());
//     }
//   }
//   wq_controller_options options = {.size = sizeof options, .reconcile = reconcile, .workers = 4};
//   code = wq_controller_start(queue, &options, &controller, &error);
//   ...
//   code = wq_controller_stop(controller, 5 * 1000 * 1000, &error);
//   code = wq_controller_free(controller, &error);
//
// The reconciler is called by all workers at once, without a lock. It may call everything else of the
// queue, but for Done of its key, and must not close or free the store or the controller. Stop a
// controller before wq_store_close, which does not wait for reconciles.
#pragma once

#include "wq/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wq_controller {
  uint64_t handle;
} wq_controller;

#define WQ_NO_CONTROLLER \
  { 0 }

// What a reconciler is told. Valid during its call.
typedef struct wq_reconcile {
  size_t size;
  wq_queue queue;
  const char* key;
  size_t key_size;
  const void* stop;  // The library's own: see wq_reconcile_stopping.
} wq_reconcile;

// What came of a reconcile.
enum {
  WQ_RECONCILE_SUCCESS = 0,
  WQ_RECONCILE_ERROR = 1,           // Retried by the queue's limiter; `failure` is kept.
  WQ_RECONCILE_REQUEUE = 2,         // The same, but it is no error.
  WQ_RECONCILE_REQUEUE_AFTER = 3,   // Looked at again after after_us, its failures forgotten.
  WQ_RECONCILE_TERMINAL_ERROR = 4,  // No retry will help; see drop_terminal_errors.
  WQ_RECONCILE_INTERRUPTED = 5  // During wq_controller_stop: the key is left for the next start.
};
typedef struct wq_reconcile_result {
  size_t size;
  int32_t kind;
  int64_t after_us;
  char failure[512];  // Why: text that ends with a NUL. Of errors only.
} wq_reconcile_result;

// A reconcile that is over. Valid during the call that gets it.
typedef struct wq_reconciled {
  size_t size;
  const char* key;
  size_t key_size;
  int32_t outcome;  // WQ_RECONCILE_SUCCESS, ERROR, REQUEUE or REQUEUE_AFTER.
  const char* failure;
  size_t failure_size;
  int32_t terminal;   // A terminal error.
  int32_t exception;  // It threw (a reconciler that is C++).
  int32_t timed_out;  // The timeout was over before it ended.
  int32_t left;       // The key stays in the store for the next start.
  int64_t duration_ns;
} wq_reconciled;

typedef struct wq_controller_options {
  size_t size;
  // `result` is success until it is said otherwise.
  void (*reconcile)(void* arg, const wq_reconcile* call, wq_reconcile_result* result);
  void* arg;                     // Must live until wq_controller_free or wq_store_free returned.
  uint32_t workers;              // A thread each. 0: 1.
  int32_t drop_terminal_errors;  // Forget keys with terminal errors, rather than quarantine them.
  // After so long wq_reconcile_stopping says 1, and a timeout is counted. 0: never.
  int64_t reconcile_timeout_us;
  // Told of each reconcile, by the worker, without a lock: before, and when the queue knows what became of
  // it. Each may be NULL.
  void (*begin)(void* arg, const char* key, size_t key_size);
  void (*end)(void* arg, const wq_reconciled* reconciled);
  void* observer_arg;  // Must live as `arg`.
  // The label `controller` of the metrics controller_runtime_* (docs/metrics.md), which go where the
  // store's go (wq_store_options.metrics). NULL: none.
  const char* metrics_name;
} wq_controller_options;

// Starts workers of the queue. WQ_INVALID_ARGUMENT, WQ_SHUTTING_DOWN; WQ_IO_ERROR: no more threads.
WQ_EXPORT wq_code wq_controller_start(wq_queue queue, const wq_controller_options* options,
                                      wq_controller* controller, wq_error* error);

// 1 if a reconcile had better end: its time is over, or the controller is stopping. 0 for NULL.
WQ_EXPORT int32_t wq_reconcile_stopping(const wq_reconcile* call);

// The queue is shut down and worked off; then the workers end. WQ_TIMED_OUT: the drain goes on, until
// wq_controller_stop. WQ_SHUTTING_DOWN: that, or another shut-down of the queue, came meanwhile. Blocks.
WQ_EXPORT wq_code wq_controller_drain(wq_controller controller, int64_t timeout_us,
                                      wq_error* error);
// The queue is stopped, and running reconciles are told so. WQ_TIMED_OUT: some run on after grace_us.
// Blocks.
WQ_EXPORT wq_code wq_controller_stop(wq_controller controller, int64_t grace_us, wq_error* error);
// wq_controller_stop, and waits for the running reconciles, however long they take; then the handle is
// gone. wq_store_free does it for the controllers of its queues. Blocks.
WQ_EXPORT wq_code wq_controller_free(wq_controller controller, wq_error* error);

typedef struct wq_reconcile_counts {
  size_t size;
  uint64_t success;  // A finished reconcile is in one of these four.
  uint64_t error;
  uint64_t requeue;
  uint64_t requeue_after;
  uint64_t terminal_errors;  // Of `error`.
  uint64_t timeouts;         // Of all four.
  uint64_t left;             // Keys that stay in the store for the next start.
  uint64_t queue_errors;     // Calls of the queue that failed. See wq_controller_health.
  size_t active_workers;     // In a reconcile now.
  uint64_t exceptions;       // Of `error`: the reconciler is C++, and threw.
} wq_reconcile_counts;
WQ_EXPORT wq_code wq_controller_counts(wq_controller controller, wq_reconcile_counts* counts,
                                       wq_error* error);
// The last failure of a call that a worker made to the queue; WQ_OK if there was none.
WQ_EXPORT wq_code wq_controller_health(wq_controller controller, wq_error* error);

#ifdef __cplusplus
}
#endif
