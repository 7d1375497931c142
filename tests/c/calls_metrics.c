// Part of calls: metrics and limiters.

#include <string.h>

#include "tests/c/expect.h"

void metrics_and_limiters(void) {
  wq_store_options options = {.size = sizeof options, .metrics = 1};
  wq_limiter fast = {.size = sizeof fast, .kind = WQ_LIMITER_ITEM_FAST_SLOW, .base_us = 1};
  wq_limiter bucket = {.size = sizeof bucket, .kind = WQ_LIMITER_BUCKET, .rate = 1, .burst = 9};
  const wq_limiter* both[2];
  wq_limiter limiter = {.size = sizeof limiter, .kind = WQ_LIMITER_MAX_OF, .limiter_count = 2};
  wq_queue_options queue_options = {.size = sizeof queue_options, .limiter = &limiter};
  wq_store store = WQ_NO_STORE;
  wq_queue queue = WQ_NO_QUEUE;
  wq_bytes bytes = WQ_NO_BYTES;
  both[0] = &fast;
  both[1] = &bucket;
  limiter.limiters = both;
  OK(wq_store_open_in_memory(&options, &store, &error));
  OK(wq_store_dir(store, &bytes, &error));
  EXPECT(bytes.size == 0);
  OK(wq_store_open_queue(store, "m", &queue_options, &queue, &error));
  OK(wq_queue_add(queue, "a", 1, NULL, NULL, &error));
  OK(wq_queue_add(queue, "b", 1, NULL, NULL, &error));
  OK(wq_store_metrics(store, &bytes, &error));
  EXPECT(strstr(bytes.data, "# TYPE workqueue_adds_total counter\n") != NULL);
  EXPECT(strstr(bytes.data, "name=\"m\"} 2\n") != NULL);
  OK(wq_store_free(store, &error));
  wq_bytes_free(&bytes);
}
