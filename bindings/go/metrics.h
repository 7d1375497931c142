// What the library calls back without a call into Go: a store's metrics and its clock.
//
// The metrics are collected in C: counters and histograms are added up without a call into
// Go, and Store.Metrics reads them. So measuring a call of the queue costs a few atomic additions.
// Threading: wqgo_add_to and wqgo_observe by many threads; the rest under `mu`.
#pragma once

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <wq/wq.h>

#include "visits.h"

// One counter or histogram. Constant except `count`, `sum` and `buckets`.
typedef struct wqgo_series {
  struct wqgo_series* next;
  wq_bytes identity;  // As written by wqgo_put_identity.
  double* bounds;
  size_t bound_count;
  int32_t kind;
  uint64_t count;     // Of a counter.
  double sum;         // Of a histogram.
  uint64_t* buckets;  // Of a histogram: bound_count + 1.

  // Of a histogram, if wqgo_metrics.keeps: the values since they were last taken. Under recent_mu.
  pthread_mutex_t recent_mu;
  double* recent;
  size_t recent_count;
  size_t recent_capacity;
} wqgo_series;

typedef struct wqgo_metrics {
  pthread_mutex_t mu;
  wqgo_series* first;  // Under mu.
  int32_t keeps;       // Constant. Whether histograms keep their values until they are taken.
} wqgo_metrics;

static inline wqgo_metrics* wqgo_metrics_new(int32_t keeps) {
  wqgo_metrics* const metrics = (wqgo_metrics*)calloc(1, sizeof *metrics);
  metrics->keeps = keeps;
  pthread_mutex_init(&metrics->mu, NULL);
  return metrics;
}

static inline void wqgo_metrics_free(wqgo_metrics* metrics) {
  while (metrics->first != NULL) {
    wqgo_series* const series = metrics->first;
    metrics->first = series->next;
    wq_bytes_free(&series->identity);
    free(series->bounds);
    free(series->buckets);
    pthread_mutex_destroy(&series->recent_mu);
    free(series->recent);
    free(series);
  }
  pthread_mutex_destroy(&metrics->mu);
  free(metrics);
}

// Writes name, help, kind, number of labels, and the name and value of each label.
static inline void wqgo_put_identity(wqgo_visits* visits, const wq_metric* metric,
                                     const wq_label* labels, size_t label_count) {
  wqgo_put(visits, metric->name, strlen(metric->name));
  wqgo_put(visits, metric->help, strlen(metric->help));
  wqgo_put_number(visits, metric->kind);
  wqgo_put_number(visits, (int64_t)label_count);
  for (size_t i = 0; i < label_count; ++i) {
    wqgo_put(visits, labels[i].name, strlen(labels[i].name));
    wqgo_put(visits, labels[i].value, strlen(labels[i].value));
  }
}

// Finds the series of this identity; NULL: it does not exist. REQUIRES: mu.
static inline wqgo_series* wqgo_find_series(const wqgo_metrics* metrics, const wq_bytes* identity) {
  wqgo_series* series = metrics->first;
  while (series != NULL && (series->identity.size != identity->size ||
                            memcmp(series->identity.data, identity->data, identity->size) != 0)) {
    series = series->next;
  }
  return series;
}

static inline void* wqgo_series_of(void* arg, const wq_metric* metric, const wq_label* labels,
                                   size_t label_count) {
  wqgo_metrics* const metrics = (wqgo_metrics*)arg;
  wq_bytes identity = WQ_NO_BYTES;
  wqgo_visits visits = wqgo_begin(&identity);
  wqgo_put_identity(&visits, metric, labels, label_count);
  pthread_mutex_lock(&metrics->mu);
  wqgo_series* series = wqgo_find_series(metrics, &identity);
  if (series == NULL) {
    series = (wqgo_series*)calloc(1, sizeof *series);
    pthread_mutex_init(&series->recent_mu, NULL);
    series->kind = metric->kind;
    series->identity = identity;
    identity = (wq_bytes)WQ_NO_BYTES;
    series->bound_count = metric->bound_count;
    series->bounds = (double*)calloc(metric->bound_count + 1, sizeof *series->bounds);
    series->buckets = (uint64_t*)calloc(metric->bound_count + 1, sizeof *series->buckets);
    if (metric->bound_count > 0) {
      memcpy(series->bounds, metric->bounds, metric->bound_count * sizeof *series->bounds);
    }
    series->next = metrics->first;
    metrics->first = series;
  }
  pthread_mutex_unlock(&metrics->mu);
  wq_bytes_free(&identity);
  return series;
}

static inline void wqgo_add_to(void* arg, void* series, uint64_t count) {
  (void)arg;
  __atomic_fetch_add(&((wqgo_series*)series)->count, count, __ATOMIC_RELAXED);
}

// Keeps a value; without memory it is lost.
static inline void wqgo_keep(wqgo_series* series, double value) {
  pthread_mutex_lock(&series->recent_mu);
  if (series->recent_count == series->recent_capacity) {
    const size_t capacity = series->recent_capacity == 0 ? 64 : 2 * series->recent_capacity;
    double* const grown = (double*)realloc(series->recent, capacity * sizeof *grown);
    if (grown != NULL) {
      series->recent = grown;
      series->recent_capacity = capacity;
    }
  }
  if (series->recent_count < series->recent_capacity) {
    series->recent[series->recent_count++] = value;
  }
  pthread_mutex_unlock(&series->recent_mu);
}

static inline void wqgo_observe(void* arg, void* of, double value) {
  wqgo_series* const series = (wqgo_series*)of;
  size_t bucket = 0;
  if (((const wqgo_metrics*)arg)->keeps) {
    wqgo_keep(series, value);
  }
  while (bucket < series->bound_count && value > series->bounds[bucket]) {
    ++bucket;
  }
  __atomic_fetch_add(&series->buckets[bucket], 1, __ATOMIC_RELAXED);
  double before = 0;
  __atomic_load(&series->sum, &before, __ATOMIC_RELAXED);
  double after = before + value;
  while (!__atomic_compare_exchange(&series->sum, &before, &after, 1, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
    after = before + value;
  }
}

static inline void wqgo_put_double(wqgo_visits* visits, double value) {
  wqgo_put(visits, (const char*)&value, sizeof value);
}

// Writes the kept values as one part, which is empty unless `take`, and forgets them.
static inline void wqgo_put_recent(wqgo_visits* visits, wqgo_series* series, int32_t take) {
  if (!take) {
    wqgo_put(visits, NULL, 0);
    return;
  }
  pthread_mutex_lock(&series->recent_mu);
  wqgo_put(visits, (const char*)series->recent, series->recent_count * sizeof *series->recent);
  series->recent_count = 0;
  pthread_mutex_unlock(&series->recent_mu);
}

// Writes the identity, and: of a counter its count; of a histogram its sum, buckets and bounds, an
// empty part, and the values of wqgo_put_recent.
static inline void wqgo_put_series(wqgo_visits* visits, wqgo_series* series, int32_t take) {
  size_t offset = 0;
  const char* part = NULL;
  size_t size = 0;
  while (wq_keys_next(series->identity.data, series->identity.size, &offset, &part, &size, NULL) ==
         WQ_OK) {
    wqgo_put(visits, part, size);
  }
  if (series->kind == WQ_COUNTER) {
    wqgo_put_double(visits, (double)__atomic_load_n(&series->count, __ATOMIC_RELAXED));
    return;
  }
  double sum = 0;
  __atomic_load(&series->sum, &sum, __ATOMIC_RELAXED);
  wqgo_put_double(visits, sum);
  for (size_t i = 0; i <= series->bound_count; ++i) {
    wqgo_put_number(visits, (int64_t)__atomic_load_n(&series->buckets[i], __ATOMIC_RELAXED));
    if (i < series->bound_count) {
      wqgo_put_double(visits, series->bounds[i]);
    }
  }
  wqgo_put(visits, NULL, 0);
  wqgo_put_recent(visits, series, take);
}

static inline void wqgo_put_gauge(void* arg, const wq_metric* metric, const wq_label* labels,
                                  size_t label_count, double value) {
  wqgo_put_identity((wqgo_visits*)arg, metric, labels, label_count);
  wqgo_put_double((wqgo_visits*)arg, value);
}

// Writes all series of the store. With `take` also those values that histograms keep; then it works
// for a closed store, too, which has no gauges. REQUIRES: `metrics` is the store's.
static inline wq_code wqgo_read_metrics(wq_store store, wqgo_metrics* metrics, int32_t take,
                                        wq_bytes* list, wq_error* error) {
  wqgo_visits visits = wqgo_begin(list);
  pthread_mutex_lock(&metrics->mu);
  for (wqgo_series* series = metrics->first; series != NULL; series = series->next) {
    wqgo_put_series(&visits, series, take);
  }
  pthread_mutex_unlock(&metrics->mu);
  const wq_code gauges = wq_store_read_gauges(store, wqgo_put_gauge, &visits, error);
  return wqgo_end(take ? WQ_OK : gauges, &visits, error);
}

// Structs that wq_store_open reads through its options, and copies.
typedef struct wqgo_installed {
  wq_metrics metrics;
  wq_clock clock;
} wqgo_installed;

static inline void wqgo_install_metrics(wq_store_options* options, wqgo_installed* installed,
                                        wqgo_metrics* metrics) {
  installed->metrics.size = sizeof installed->metrics;
  installed->metrics.arg = metrics;
  installed->metrics.series = wqgo_series_of;
  installed->metrics.add = wqgo_add_to;
  installed->metrics.observe = wqgo_observe;
  options->metrics = &installed->metrics;
}

// A clock that Go sets, and that the threads of the library read without a call into Go.
// Thread-safe.
typedef struct wqgo_clock {
  int64_t steady_us;  // Both are accessed atomically.
  int64_t wall_us;
} wqgo_clock;

static inline int64_t wqgo_steady_us(void* clock) {
  return __atomic_load_n(&((wqgo_clock*)clock)->steady_us, __ATOMIC_SEQ_CST);
}
static inline int64_t wqgo_wall_us(void* clock) {
  return __atomic_load_n(&((wqgo_clock*)clock)->wall_us, __ATOMIC_SEQ_CST);
}
static inline void wqgo_advance(wqgo_clock* clock, int64_t us) {
  __atomic_fetch_add(&clock->steady_us, us, __ATOMIC_SEQ_CST);
  __atomic_fetch_add(&clock->wall_us, us, __ATOMIC_SEQ_CST);
}

static inline void wqgo_install_clock(wq_store_options* options, wqgo_installed* installed,
                                      wqgo_clock* clock) {
  installed->clock.size = sizeof installed->clock;
  installed->clock.steady_us = wqgo_steady_us;
  installed->clock.wall_us = wqgo_wall_us;
  installed->clock.arg = clock;
  options->clock = &installed->clock;
}
