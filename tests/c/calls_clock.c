// Part of calls: a clock of the caller.

#include <stdint.h>

#include <wq/wq.h>

#include "tests/c/expect.h"

// In microseconds; threads of the library read it.
static int64_t now_us = 1000;
static wq_code inside = WQ_OK;  // What a call inside the clock returned.

static int64_t read_steady(void* arg) {
  if (arg != NULL) {
    __atomic_store_n(&inside, wq_keys_append(arg, "k", 1, NULL), __ATOMIC_RELAXED);
  }
  return __atomic_load_n(&now_us, __ATOMIC_RELAXED);
}
static int64_t read_wall(void* arg) { return read_steady(arg) + INT64_C(1700000000000000); }
static void pass(int64_t us) { __atomic_fetch_add(&now_us, us, __ATOMIC_RELAXED); }

void clocks(void) {
  wq_bytes bytes = WQ_NO_BYTES;
  wq_clock clock = {.size = sizeof clock, .steady_us = read_steady, .wall_us = read_wall};
  wq_store_options options = {.size = sizeof options, .clock = &clock};
  wq_store store = WQ_NO_STORE;
  wq_queue queue = WQ_NO_QUEUE;
  clock.wall_us = NULL;
  EXPECT(wq_store_open_in_memory(&options, &store, &error) == WQ_INVALID_ARGUMENT);
  clock.wall_us = read_wall;
  OK(wq_store_open_in_memory(&options, &store, &error));
  OK(wq_store_open_queue(store, "q", NULL, &queue, &error));
  OK(wq_queue_add_after(queue, "late", 4, INT64_C(3600000000), NULL, NULL, &error));
  EXPECT(wq_queue_get(queue, 0, &bytes, &error) == WQ_TIMED_OUT);
  pass(INT64_C(3600000000) - 1);
  OK(wq_store_clock_changed(store, &error));
  EXPECT(wq_queue_get(queue, 0, &bytes, &error) == WQ_TIMED_OUT);
  pass(1);
  OK(wq_store_clock_changed(store, &error));
  OK(wq_queue_get(queue, WQ_FOREVER, &bytes, &error));
  EXPECT(bytes.size == 4);
  OK(wq_store_free(store, &error));

  clock.arg = &bytes;  // The clock now calls the library.
  OK(wq_store_open_in_memory(&options, &store, &error));
  OK(wq_store_open_queue(store, "q", NULL, &queue, &error));
  OK(wq_queue_add(queue, "k", 1, NULL, NULL, &error));
  OK(wq_store_free(store, &error));
  EXPECT(inside == WQ_INVALID_ARGUMENT);
  wq_bytes_free(&bytes);
}
