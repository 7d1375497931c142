// Part of calls: metrics, gauges and limiters.

#include <string.h>

#include "tests/c/expect.h"

static void* series(void* arg, const wq_metric* metric, const wq_label* labels, size_t count) {
  EXPECT(count >= 1 && labels[0].name[0] != '\0');
  return strcmp(metric->name, "workqueue_adds_total") == 0 ? arg : NULL;
}
static void add_to(void* arg, void* to, uint64_t count) {
  if (to == arg) {
    *(uint64_t*)to += count;
  }
}
static void observe(void* arg, void* to, double value) { EXPECT(arg != to && value >= 0); }
static void note_depth(void* arg, const wq_metric* metric, const wq_label* labels, size_t count,
                       double value) {
  EXPECT(metric->kind == WQ_GAUGE && labels != NULL && count > 0);
  if (strcmp(metric->name, "workqueue_depth") == 0) {
    *(double*)arg += value;
  }
}

void metrics_and_limiters(void) {
  uint64_t adds = 0;
  double depth = 0;
  wq_metrics metrics = {
      .size = sizeof metrics, .arg = &adds, .series = series, .add = add_to, .observe = observe};
  wq_store_options options = {.size = sizeof options, .metrics = &metrics};
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
  EXPECT(adds == 2);
  OK(wq_store_read_gauges(store, note_depth, &depth, &error));
  EXPECT(depth == 2);
  OK(wq_store_free(store, &error));
  wq_bytes_free(&bytes);
}
