// Part of calls: a controller in C99, and each result of a reconciler.

#include <string.h>

#include <wq/wq.h>

#include "tests/c/expect.h"

static int key_is(const wq_reconcile* call, const char* key) {
  return call->key_size == strlen(key) && memcmp(call->key, key, call->key_size) == 0;
}

// The result depends on the key. Calls are counted at `arg`, by one worker.
static void reconcile(void* arg, const wq_reconcile* call, wq_reconcile_result* result) {
  uint64_t failures = 0;
  ++*(int*)arg;
  EXPECT(call->size >= sizeof *call && result->size >= sizeof *result);
  EXPECT(result->kind == WQ_RECONCILE_SUCCESS && wq_reconcile_stopping(call) == 0);
  OK(wq_queue_num_requeues(call->queue, call->key, call->key_size, &failures, &error));
  EXPECT(wq_queue_done(call->queue, "other", 5, &error) == WQ_NOT_PROCESSING);
  if (key_is(call, "error") && failures == 0) {
    result->kind = WQ_RECONCILE_ERROR;
    strcpy(result->failure, "not yet");
  } else if (key_is(call, "requeue") && failures == 0) {
    result->kind = WQ_RECONCILE_REQUEUE;
  } else if (key_is(call, "later")) {
    result->kind = WQ_RECONCILE_REQUEUE_AFTER;
    result->after_us = INT64_C(3600000000);
  } else if (key_is(call, "hopeless")) {
    result->kind = WQ_RECONCILE_TERMINAL_ERROR;
    memset(result->failure, 'x', sizeof result->failure);  // Without a NUL.
  } else if (key_is(call, "wrong")) {
    result->kind = 99;
    if (failures > 0) {
      result->kind = WQ_RECONCILE_SUCCESS;
    }
  }
}

// Four counts: begun, ended, failed with a text, terminal errors.
static void note_begin(void* arg, const char* key, size_t size) {
  EXPECT(key != NULL && size > 0);
  ++((int*)arg)[0];
}
static void note_end(void* arg, const wq_reconciled* reconciled) {
  int* const observed = arg;
  EXPECT(reconciled->size >= sizeof *reconciled && reconciled->duration_ns >= 0);
  EXPECT(reconciled->left == 0 && reconciled->exception == 0 && reconciled->timed_out == 0);
  ++observed[1];
  observed[2] += reconciled->outcome == WQ_RECONCILE_ERROR && reconciled->failure_size > 0;
  observed[3] += reconciled->terminal;
}

static void add_key(wq_queue queue, const char* key) {
  OK(wq_queue_add(queue, key, strlen(key), NULL, NULL, &error));
}

// Waits until `ended` reconciles have ended.
static void wait_for(wq_controller controller, uint64_t ended) {
  wq_reconcile_counts counts = {.size = sizeof counts};
  do {
    OK(wq_controller_counts(controller, &counts, &error));
  } while (counts.success + counts.error + counts.requeue + counts.requeue_after < ended);
}

static void a_controller_works_off(wq_store store) {
  int calls = 0;
  int observed[4] = {0, 0, 0, 0};
  wq_controller_options options = {.size = sizeof options,
                                   .reconcile = reconcile,
                                   .arg = &calls,
                                   .begin = note_begin,
                                   .end = note_end,
                                   .observer_arg = observed};
  wq_controller controller = WQ_NO_CONTROLLER;
  wq_queue queue = WQ_NO_QUEUE;
  wq_reconcile_counts counts = {.size = sizeof counts};
  int32_t quarantined = 0;
  OK(wq_store_open_queue(store, "controlled", NULL, &queue, &error));
  options.metrics_name = "controlled";  // The store has no metrics.
  EXPECT(wq_controller_start(queue, &options, &controller, &error) == WQ_INVALID_ARGUMENT);
  options.metrics_name = NULL;
  add_key(queue, "good");
  add_key(queue, "error");
  add_key(queue, "requeue");
  add_key(queue, "later");
  add_key(queue, "hopeless");
  add_key(queue, "wrong");
  OK(wq_controller_start(queue, &options, &controller, &error));
  wait_for(controller, 9);  // Six keys, three of them twice.
  OK(wq_controller_drain(controller, WQ_FOREVER, &error));
  OK(wq_controller_counts(controller, &counts, &error));
  EXPECT(calls == 9 && counts.success == 4 && counts.error == 3 && counts.terminal_errors == 1);
  EXPECT(observed[0] == 9 && observed[1] == 9 && observed[2] == 3 && observed[3] == 1);
  EXPECT(counts.requeue == 1 && counts.requeue_after == 1 && counts.active_workers == 0);
  OK(wq_controller_health(controller, &error));
  OK(wq_queue_is_quarantined(queue, "hopeless", 8, &quarantined, &error));
  EXPECT(quarantined == 1);
  OK(wq_controller_stop(controller, 0, &error));
  OK(wq_controller_free(controller, &error));
  EXPECT(wq_controller_free(controller, &error) == WQ_BAD_HANDLE);
  EXPECT(wq_reconcile_stopping(NULL) == 0);
}

void controllers(wq_store store) { a_controller_works_off(store); }
