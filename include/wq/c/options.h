// Options of the C interface: stores, queues, calls, limiters, metrics. One field, one meaning; 0 is
// always the default. Begin with wq/wq.h; what each option costs is told in wq/options.h.
//
//   wq_queue_options options = {.size = sizeof options, .order = WQ_ORDER_TWO_LANES};
//
// Everything that an option points to is copied by the call that gets it, but for the callbacks'
// `arg`, which must live until wq_store_free has returned, or until the opening has failed.
#pragma once

#include "wq/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// How far a call's effect has got when the call returns.
enum {
  WQ_DEFAULT_DURABILITY =
      0,           // Of a call: the queue's. Of a queue: WQ_PROCESS. Of a flush: WQ_POWER.
  WQ_ASYNC = 1,    // In memory, and on its way.
  WQ_PROCESS = 2,  // Survives kill -9.
  WQ_POWER = 3     // Survives a power cut.
};

enum {
  WQ_ORDER_FIFO = 0,
  WQ_ORDER_TWO_LANES = 1,   // WQ_FAST_LANE and WQ_SLOW_LANE.
  WQ_ORDER_LANES = 2,       // wq_queue_options.lanes.
  WQ_ORDER_PRIORITIES = 3,  // Every 32-bit integer is a lane.
  WQ_ORDER_FAIR = 4         // Round robin over the groups.
};

enum { WQ_FAST_LANE = 0, WQ_SLOW_LANE = -100 };

enum { WQ_RE_ADD_SETS_LANE = 0, WQ_RE_ADD_RAISES_LANE = 1 };
enum { WQ_QUARANTINED_ADD_HOLDS = 0, WQ_QUARANTINED_ADD_RELEASES = 1 };

// --- Limiters ---

enum {
  WQ_LIMITER_DEFAULT = 0,           // ITEM_EXPONENTIAL of 5 ms and 1000 s.
  WQ_LIMITER_ITEM_EXPONENTIAL = 1,  // base_us * 2^failures, at most max_us.
  WQ_LIMITER_ITEM_FAST_SLOW = 2,    // base_us for max_fast_attempts failures, then max_us.
  WQ_LIMITER_BUCKET = 3,            // Tokens for all keys: `rate` a second, `burst` at once.
  WQ_LIMITER_MAX_OF = 4,            // The longest delay of `limiters`.
  WQ_LIMITER_MAX_WAIT = 5,          // The delay of the one of `limiters`, at most max_us.
  WQ_LIMITER_CONTROLLER = 6,        // client-go's: MAX_OF(DEFAULT, BUCKET of 10 and 100).
  WQ_LIMITER_CALLBACK = 7           // `when`.
};

typedef struct wq_limiter {
  size_t size;
  int32_t kind;
  int64_t base_us;
  int64_t max_us;
  uint64_t max_fast_attempts;
  double rate;
  int64_t burst;
  const struct wq_limiter* const* limiters;  // At most 64, and 8 deep.
  size_t limiter_count;

  // The delay in microseconds for one more failure of a key that failed `failures` times before (the
  // count is the queue's, and durable). One call at a time for each queue; it must not call the
  // library: WQ_INVALID_ARGUMENT.
  int64_t (*when)(void* arg, const char* key, size_t key_size, uint64_t failures);
  // The key succeeded. May be NULL.
  void (*forget)(void* arg, const char* key, size_t key_size);
  void* arg;
} wq_limiter;

// --- Metrics ---

enum { WQ_COUNTER = 0, WQ_GAUGE = 1, WQ_HISTOGRAM = 2 };

// One metric, and one label of a series. All strings end with a NUL. See docs/metrics.md.
typedef struct wq_metric {
  const char* name;
  const char* help;
  int32_t kind;
  const double*
      bounds;  // Of histograms: the buckets' upper bounds, ascending; one more is implied.
  size_t bound_count;
  int32_t largest;  // Of gauges: of two readings of one series the larger counts, not the sum.
} wq_metric;
typedef struct wq_label {
  const char* name;
  const char* value;
} wq_label;

// Where counters and histograms go when something happens. Gauges are read: wq_store_read_gauges.
// Called by many threads at once.
typedef struct wq_metrics {
  size_t size;
  void* arg;
  // The series with these labels, in whatever form `add` and `observe` know it. The same for the same
  // labels. Called when a store or a queue is opened.
  void* (*series)(void* arg, const wq_metric* metric, const wq_label* labels, size_t label_count);
  void (*add)(void* arg, void* series, uint64_t count);
  void (*observe)(void* arg, void* series, double value);
} wq_metrics;

// --- Clocks ---

// Where time comes from, for tests of what waits. Called by many threads at once, also under locks of
// the library, which they must not call: WQ_INVALID_ARGUMENT. Where this time does not just pass, but
// jumps, wq_store_clock_changed is to be called. More in wq/clock.h.
typedef struct wq_clock {
  size_t size;
  int64_t (*steady_us)(void* arg);  // Microseconds. Never goes back.
  int64_t (*wall_us)(void* arg);    // Since 1970-01-01T00:00:00Z. May jump.
  void* arg;
} wq_clock;

// --- Stores, queues, calls ---

typedef struct wq_store_options {
  size_t size;
  int32_t create_if_missing;    // Make a new store where there is none.
  int32_t error_if_exists;      // Refuse one that is there.
  int32_t skip_list_memtable;   // Slower writes, quicker readers beside the owner.
  uint32_t flush_interval_ms;   // 0: 10.
  uint64_t max_wal_bytes;       // 0: 64 MiB.
  uint64_t write_buffer_bytes;  // 0: 24 MiB.
  uint64_t max_batch_bytes;     // 0: 8 MiB.
  const wq_metrics* metrics;    // NULL: nothing is measured.
  // After a failed write the store is opened anew, first after the one, at last after the other.
  uint32_t recovery_backoff_min_ms;  // 0: 100.
  uint32_t recovery_backoff_max_ms;  // 0: 30 000.
  // The store failed (WQ_NOT_DURABLE, and why), or is mended (WQ_OK, and ""). By a thread of the store;
  // the next attempt waits until it returns. It must not call wq_store_recover: WQ_INVALID_ARGUMENT.
  void (*health)(void* arg, wq_code code, const char* message);
  void* health_arg;
  const wq_clock* clock;  // NULL: the machine's.
} wq_store_options;

typedef struct wq_queue_options {
  size_t size;
  int32_t must_exist;  // WQ_NOT_FOUND where the store has no queue of this name, not a new one.
  int32_t order;
  const int32_t* lanes;  // Of WQ_ORDER_LANES.
  size_t lane_count;
  int32_t re_add;
  uint32_t starvation_bound;  // 0: none.
  uint32_t shards;            // 0: none.
  int32_t quarantined_add;
  uint64_t max_requeues;  // 0: never quarantined.
  int32_t durability;     // Of calls that name none.
  int32_t add_cancels_delay;
  size_t max_key_bytes;  // 0: 4096.
  const wq_limiter* limiter;

  // Writes the group of a key to `group` and returns its size; at most `capacity` bytes count. NULL:
  // only wq_add_options.group. It may be called for one key more than once.
  size_t (*group_of)(void* arg, const char* key, size_t key_size, char* group, size_t capacity);
  void* group_arg;

  // Waiting without a thread: see "Ready" in wq/c/queue.h.
  void (*ready)(void* arg);
  void* ready_arg;
} wq_queue_options;

typedef struct wq_add_options {
  size_t size;
  int32_t has_lane;  // Otherwise the key's present lane, or WQ_FAST_LANE.
  int32_t lane;
  int32_t durability;
  // wq_queue_add_rate_limited: the delay is retry_delay_us, and the limiter is not asked. So a caller
  // may have a limiter of his own, while the counts are the queue's.
  int32_t has_retry_delay;
  int64_t retry_delay_us;
  const char* group;  // NULL: by group_of.
  size_t group_size;
} wq_add_options;

#ifdef __cplusplus
}
#endif
