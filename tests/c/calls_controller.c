// Part of calls: a controller in C99, and each thing that a reconciler may say.

#include <string.h>

#include <wq/wq.h>

#include "tests/c/expect.h"

static int key_is(const wq_reconcile* call, const char* key) {
  return call->key_size == strlen(key) && memcmp(call->key, key, call->key_size) == 0;
}

// What each key says; counted at `arg`. One worker: nobody else counts.
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

static void add_key(wq_queue queue, const char* key) {
  OK(wq_queue_add(queue, key, strlen(key), NULL, NULL, &error));
}

// Waits until so many reconciles are over.
static void wait_for(wq_controller controller, uint64_t over) {
  wq_reconcile_counts counts = {sizeof counts, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  do {
    OK(wq_controller_counts(controller, &counts, &error));
  } while (counts.success + counts.error + counts.requeue + counts.requeue_after < over);
}

static void a_controller_works_off(wq_store store) {
  int calls = 0;
  wq_controller_options options = {sizeof options, reconcile, &calls, 0, 0, 0};
  wq_controller controller = WQ_NO_CONTROLLER;
  wq_queue queue = WQ_NO_QUEUE;
  wq_reconcile_counts counts = {sizeof counts, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  int32_t quarantined = 0;
  OK(wq_store_open_queue(store, "controlled", NULL, &queue, &error));
  add_key(queue, "good");
  add_key(queue, "error");
  add_key(queue, "requeue");
  add_key(queue, "later");
  add_key(queue, "hopeless");
  add_key(queue, "wrong");
  OK(wq_controller_start(queue, &options, &controller, &error));
  wait_for(controller, 9);  // Three of them twice.
  OK(wq_controller_drain(controller, WQ_FOREVER, &error));
  OK(wq_controller_counts(controller, &counts, &error));
  EXPECT(calls == 9 && counts.success == 4 && counts.error == 3 && counts.terminal_errors == 1);
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
