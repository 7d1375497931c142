// Controllers, in C: workers that take keys from a queue and reconcile them. Begin with wq/wq.h.
// wq/controller.h describes what each result does to a key.
//
//   static void reconcile(void* arg, const wq_reconcile* call, wq_reconcile_result* result) {
//     if (make_it_so(call->key, call->key_size) != 0) {
//       result->kind = WQ_RECONCILE_ERROR;  // Retried with a growing delay.
//       snprintf(result->failure, sizeof result->failure, "%s", why());
//     }
//   }
//   wq_controller_options options = {.size = sizeof options, .reconcile = reconcile, .workers = 4};
//   code = wq_controller_start(queue, &options, &controller, &error);
//   ...
//   code = wq_controller_stop(controller, 5 * 1000 * 1000, &error);
//   code = wq_controller_free(controller, &error);
//
// The reconciler is called by all workers concurrently, without a lock. It may make all calls of
// the queue except Done of its key, and must not close or free the store or the controller. Stop a
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

// The arguments of a reconciler. Valid during its call.
typedef struct wq_reconcile {
  size_t size;
  wq_queue queue;
  const char* key;
  size_t key_size;
  const void* stop;  // Used by the library only: see wq_reconcile_stopping.
} wq_reconcile;

// The result of a reconcile.
enum {
  WQ_RECONCILE_SUCCESS = 0,
  WQ_RECONCILE_ERROR = 1,           // Retried by the queue's limiter; `failure` is kept.
  WQ_RECONCILE_REQUEUE = 2,         // Retried likewise, but not counted as an error.
  WQ_RECONCILE_REQUEUE_AFTER = 3,   // Added again after after_us; its failures are forgotten.
  WQ_RECONCILE_TERMINAL_ERROR = 4,  // No retry will help; see drop_terminal_errors.
  // During wq_controller_stop: the key stays in the store for the next start.
  WQ_RECONCILE_INTERRUPTED = 5
};
typedef struct wq_reconcile_result {
  size_t size;
  int32_t kind;
  int64_t after_us;
  char failure[512];  // The reason, for errors only. Ends with a NUL.
} wq_reconcile_result;

// A reconcile that has returned. Valid during the call of `end`.
typedef struct wq_reconciled {
  size_t size;
  const char* key;
  size_t key_size;
  int32_t outcome;  // WQ_RECONCILE_SUCCESS, ERROR, REQUEUE or REQUEUE_AFTER.
  const char* failure;
  size_t failure_size;
  int32_t terminal;   // A terminal error.
  int32_t exception;  // The reconciler is C++ and threw.
  int32_t timed_out;  // The timeout had passed before it returned.
  int32_t left;       // The key stays in the store for the next start.
  int64_t duration_ns;
} wq_reconciled;

typedef struct wq_controller_options {
  size_t size;
  // `result` is WQ_RECONCILE_SUCCESS when the call begins.
  void (*reconcile)(void* arg, const wq_reconcile* call, wq_reconcile_result* result);
  void* arg;         // Must live until wq_controller_free or wq_store_free has returned.
  uint32_t workers;  // Each has a thread. 0: 1.
  int32_t drop_terminal_errors;  // Forget keys with terminal errors instead of quarantining them.
  // After this time wq_reconcile_stopping returns 1 and a timeout is counted. 0: never.
  int64_t reconcile_timeout_us;
  // Called for each reconcile by the worker, without a lock: `begin` before it, `end` when its
  // result is in the queue. Each may be NULL.
  void (*begin)(void* arg, const char* key, size_t key_size);
  void (*end)(void* arg, const wq_reconciled* reconciled);
  void* observer_arg;  // Must live as long as `arg`.
  // The label `controller` of the metrics controller_runtime_* (docs/metrics.md), which use the
  // store's wq_store_options.metrics. NULL: no metrics.
  const char* metrics_name;
} wq_controller_options;

// Starts workers of the queue. WQ_INVALID_ARGUMENT, WQ_SHUTTING_DOWN; WQ_IO_ERROR: no thread could
// be started.
WQ_EXPORT wq_code wq_controller_start(wq_queue queue, const wq_controller_options* options,
                                      wq_controller* controller, wq_error* error);

// 1 if a reconcile should return: its timeout has passed, or the controller is stopping. 0 for
// NULL.
WQ_EXPORT int32_t wq_reconcile_stopping(const wq_reconcile* call);

// Drains the queue; then the workers end. WQ_TIMED_OUT: the drain goes on, until
// wq_controller_stop. WQ_SHUTTING_DOWN: the drain was ended by wq_controller_stop or by another
// shut-down of the queue. Blocks.
WQ_EXPORT wq_code wq_controller_drain(wq_controller controller, int64_t timeout_us,
                                      wq_error* error);
// Stops the queue; wq_reconcile_stopping returns 1 in running reconciles. WQ_TIMED_OUT: some of
// them still run after grace_us. Blocks.
WQ_EXPORT wq_code wq_controller_stop(wq_controller controller, int64_t grace_us, wq_error* error);
// wq_controller_stop, then waits for the running reconciles without a limit and frees the handle.
// wq_store_free does the same for the controllers of its queues. Blocks.
WQ_EXPORT wq_code wq_controller_free(wq_controller controller, wq_error* error);

typedef struct wq_reconcile_counts {
  size_t size;
  uint64_t success;  // Each finished reconcile is in one of these four.
  uint64_t error;
  uint64_t requeue;
  uint64_t requeue_after;
  uint64_t terminal_errors;  // Part of `error`.
  uint64_t timeouts;         // Part of all four.
  uint64_t left;             // Keys that stay in the store for the next start.
  uint64_t queue_errors;     // Failed calls of the queue. See wq_controller_health.
  size_t active_workers;     // Workers that are in a reconcile now.
  uint64_t exceptions;       // Part of `error`: the reconciler is C++ and threw.
} wq_reconcile_counts;
WQ_EXPORT wq_code wq_controller_counts(wq_controller controller, wq_reconcile_counts* counts,
                                       wq_error* error);
// The last failure of a call that a worker made to the queue; WQ_OK: none has failed.
WQ_EXPORT wq_code wq_controller_health(wq_controller controller, wq_error* error);

#ifdef __cplusplus
}
#endif
