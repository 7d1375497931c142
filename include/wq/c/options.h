// Options of the C interface: stores, queues, calls, limiters. 0 is always the default.
// Begin with wq/wq.h; wq/options.h describes the cost of each option.
//
//   wq_queue_options options = {.size = sizeof options, .order = WQ_ORDER_TWO_LANES};
//
// The call copies everything that an option points to, except the `arg` of callbacks, which must
// live until wq_store_free has returned, or until the opening has failed.
#pragma once

#include "wq/c/base.h"
#include "wq/c/replicated_log.h"

#ifdef __cplusplus
extern "C" {
#endif

// How durable the effect of a call is when it returns.
enum {
  WQ_DEFAULT_DURABILITY =
      0,           // Of a call: the queue's. Of a queue: WQ_PROCESS. Of a flush: WQ_POWER.
  WQ_ASYNC = 1,    // In memory; it is written soon.
  WQ_PROCESS = 2,  // Survives kill -9.
  WQ_POWER = 3,    // Survives a power cut.
  // Survives the loss of this machine: in the replicated log. WQ_INVALID_ARGUMENT in a store that
  // is not replicated.
  WQ_REPLICATED = 4
};

enum {
  WQ_ORDER_FIFO = 0,
  WQ_ORDER_TWO_LANES = 1,   // WQ_FAST_LANE and WQ_SLOW_LANE.
  WQ_ORDER_LANES = 2,       // wq_queue_options.lanes.
  WQ_ORDER_PRIORITIES = 3,  // Every 32-bit integer is a lane.
  WQ_ORDER_FAIR = 4         // As WQ_ORDER_LANES; in a lane groups take turns.
};

enum { WQ_FAST_LANE = 0, WQ_SLOW_LANE = -100 };

enum { WQ_RE_ADD_SETS_LANE = 0, WQ_RE_ADD_RAISES_LANE = 1 };
enum { WQ_QUARANTINED_ADD_HOLDS = 0, WQ_QUARANTINED_ADD_RELEASES = 1 };

// Which end counts if wq_queue_add_after finds a delay of the key: the earlier one, that of this
// call. WQ_DELAY_RESYNC: this call's is a resync, which replaces only a resync, and which any other
// delay replaces; see docs/flow-control.md.
enum { WQ_DELAY_EARLIEST = 0, WQ_DELAY_REPLACE = 1, WQ_DELAY_RESYNC = 2 };
// What an Add does in a full queue: waits for room, or returns WQ_FULL.
enum { WQ_WHEN_FULL_WAIT = 0, WQ_WHEN_FULL_REFUSE = 1 };

// --- Limiters ---

enum {
  WQ_LIMITER_DEFAULT = 0,           // ITEM_EXPONENTIAL of 5 ms and 1000 s.
  WQ_LIMITER_ITEM_EXPONENTIAL = 1,  // base_us * 2^failures, at most max_us.
  WQ_LIMITER_ITEM_FAST_SLOW = 2,    // base_us for max_fast_attempts failures, then max_us.
  WQ_LIMITER_BUCKET = 3,            // Tokens for all keys: `rate` a second, `burst` at once.
  WQ_LIMITER_MAX_OF = 4,            // The longest delay of `limiters`.
  WQ_LIMITER_MAX_WAIT = 5,          // The delay of the only limiter in `limiters`, at most max_us.
  WQ_LIMITER_CONTROLLER = 6         // client-go's: MAX_OF(DEFAULT, BUCKET of 10 and 100).
};

// How long a failed key is delayed. The queue keeps the counts of failures and the tokens, durably.
// A limiter of the caller's own computes the delay of each call: wq_add_options.retry_delay_us.

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
} wq_limiter;

// --- Clocks ---

// The source of time, for tests. The functions are called by many threads concurrently, also under
// locks of the library, so they must not call the library: WQ_INVALID_ARGUMENT. When this time
// jumps, wq_store_clock_changed must be called. Details are in wq/clock.h.
typedef struct wq_clock {
  size_t size;
  int64_t (*steady_us)(void* arg);  // Microseconds. Never goes back.
  int64_t (*wall_us)(void* arg);    // Since 1970-01-01T00:00:00Z. May jump.
  void* arg;
} wq_clock;

// --- Replication ---

// A begin or an end of this process's ownership of a replicated store.
typedef struct wq_leadership {
  size_t size;
  int32_t owner;    // 1: this process owns the store now.
  uint64_t epoch;   // Of the ownership that has begun or ended.
  const char* why;  // Why it has ended; "" at a begin.
} wq_leadership;

// How a store is replicated: see Replication in wq/options.h, and docs/replication.md.
typedef struct wq_replication {
  size_t size;
  wq_replicated_log* log;     // wq_etcd_log_open (wq/c/etcd.h).
  const char* name;           // Of this replica: 1 to 64 of [A-Za-z0-9._-].
  uint32_t lease_ms;          // 0: 5000. Whole seconds, at least 2000.
  uint32_t lease_margin_ms;   // 0: 500.
  uint32_t write_timeout_ms;  // 0: 10 000.
  uint64_t max_log_bytes;     // 0: 64 MiB.
  int32_t never_owner;        // 1: this replica only follows.
  // Called at each begin and end of this process's ownership, by a thread of the store. It must not
  // open, close, resign or wait for anything (WQ_INVALID_ARGUMENT): it wakes a thread that does.
  // NULL: no call.
  void (*leadership)(void* arg, const wq_leadership* change);
  void* leadership_arg;
} wq_replication;

// --- Stores, queues, calls ---

typedef struct wq_store_options {
  size_t size;
  int32_t create_if_missing;    // Create a new store if there is none.
  int32_t error_if_exists;      // Fail if the store exists.
  uint32_t flush_interval_ms;   // 0: 10.
  uint64_t max_wal_bytes;       // 0: 64 MiB.
  uint64_t write_buffer_bytes;  // 0: 24 MiB.
  uint64_t max_batch_bytes;     // 0: 8 MiB.
  int32_t metrics;              // Measure what wq_store_metrics returns.
  // The delay before a failed store is opened anew: min at first, doubled each time, at most max.
  uint32_t recovery_backoff_min_ms;  // 0: 100.
  uint32_t recovery_backoff_max_ms;  // 0: 30 000.
  // The store has failed (WQ_NOT_DURABLE, and the reason) or has recovered (WQ_OK, and ""). Called
  // by a thread of the store; the next attempt waits until it returns. It must not call
  // wq_store_recover: WQ_INVALID_ARGUMENT.
  void (*health)(void* arg, wq_code code, const char* message);
  void* health_arg;
  const wq_clock* clock;  // NULL: the system's.
  // The size of the process log, a mapped file by which calls at WQ_PROCESS need not wait for a
  // write; see wq_store_process_log_status.
  uint64_t process_log_bytes;         // 0: 8 MiB. At most 1 GiB.
  int32_t no_process_log;             // 1: none, whatever process_log_bytes is.
  const wq_replication* replication;  // NULL: the store is on this machine only.
} wq_store_options;

// What bounds hand-outs: see GroupLimits in wq/options.h.
typedef struct wq_group_limits {
  size_t size;
  double per_second;        // Hand-outs, at most: 1e-6 to 1e6. 0: no bound.
  uint32_t burst;           // Beyond this rate so many at once: 1 to 1 000 000. 0: 1.
  uint32_t max_processing;  // Keys that workers hold at a time, at most. 0: no bound.
} wq_group_limits;

typedef struct wq_queue_options {
  size_t size;
  int32_t must_exist;  // WQ_NOT_FOUND if the queue does not exist, instead of creating it.
  int32_t order;
  const int32_t* lanes;  // For WQ_ORDER_LANES and WQ_ORDER_FAIR.
  size_t lane_count;
  int32_t re_add;
  uint32_t starvation_bound;  // 0: none.
  uint32_t shards;            // 0: none.
  int32_t quarantined_add;
  uint64_t max_requeues;  // 0: never quarantined.
  int32_t durability;     // The default for calls.
  size_t max_key_bytes;   // 0: 4096.
  const wq_limiter* limiter;

  // Writes the group of a key to `group` and returns its size; at most `capacity` bytes are used.
  // NULL: only wq_add_options.group. May be called more than once for a key.
  size_t (*group_of)(void* arg, const char* key, size_t key_size, char* group, size_t capacity);
  void* group_arg;

  // AddAfter of a dirty key is an Add, and an Add cancels a delay: see QueueOptions::merge_delays
  // in wq/options.h.
  int32_t merge_delays;

  // Flow control: docs/flow-control.md, and the options of these names in wq/options.h. 0: none.
  int64_t debounce_quiet_us;
  int64_t debounce_max_wait_us;
  int32_t when_full;
  uint64_t max_pending;
  int64_t stuck_after_us;

  // What bounds the keys of each group, and all keys of the queue. NULL: nothing.
  const wq_group_limits* group_limits;
  const wq_group_limits* limits;

  // Each key is added again when this has passed since its last Done; 0: none. The period of a key
  // differs by up to the part resync_jitter, 0 to 0.5.
  int64_t resync_period_us;
  double resync_jitter;
} wq_queue_options;

typedef struct wq_add_options {
  size_t size;
  int32_t has_lane;  // If 0: the present lane of the key, or WQ_FAST_LANE.
  int32_t lane;
  int32_t durability;
  // For wq_queue_add_rate_limited: the delay is retry_delay_us, and the limiter is not called. So a
  // caller can compute delays itself while the queue keeps the failure counts.
  int32_t has_retry_delay;
  int64_t retry_delay_us;
  const char* group;  // NULL: the result of group_of.
  size_t group_size;
  // For wq_queue_add_rate_limited: the limiter's delay, or retry_delay_us, is cut to max_delay_us.
  int32_t has_max_delay;
  int64_t max_delay_us;
  // Why the key needs work, and the header traceparent of W3C Trace Context; see Cause in
  // wq/options.h. Not NUL-terminated. NULL: none.
  const char* reason;
  size_t reason_size;
  const char* trace_parent;
  size_t trace_parent_size;
  int32_t delay_mode;  // Of wq_queue_add_after.
  // Of wq_queue_add and wq_queue_add_batch: how this Add is debounced. If 0: as the queue's options
  // say. A debounce_quiet_us of 0: the key is queued at once.
  int32_t has_debounce;
  int64_t debounce_quiet_us;
  int64_t debounce_max_wait_us;
  // Of the same: how long the call waits for room in a full queue. If 0: until there is room.
  int32_t has_wait_for_room;
  int64_t wait_for_room_us;
  // Of all but wq_queue_add_rate_limited: 1: a key that has any state is left as it is.
  int32_t if_absent;
} wq_add_options;

#ifdef __cplusplus
}
#endif
