// The options of stores, queues and calls. Each comment gives what the option changes, what it
// costs and its default.
//
//   wq::StoreOptions options{.create_if_missing = true, .flush_interval = 50ms};
//   wq::QueueOptions pods{.order = wq::Order::kTwoLanes, .max_requeues = 15};
//   queue->Add(key, {.lane = wq::kSlowLane, .durability = wq::Durability::kPower});
//
// Threading: thread-compatible; plain values. Lifetime: copied by the call that takes them, except
// `clock`, which is borrowed. A crash: each opening passes its own options; order, lanes and shards
// may differ from the last opening's.
#pragma once

#include "wq/cxx20.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wq/status.h"

namespace wq {

class Clock;
class Limiter;
class MetricsProvider;
class ReplicatedLog;
class Status;

// How durable a call's effect is when the call returns. Each level includes the levels before it.
enum class Durability : uint8_t {
  // In memory; it is written in the background within StoreOptions::flush_interval. A killed
  // process loses at most what was not written yet; what survives is a prefix of the calls, without
  // a gap.
  kAsync = 0,
  // In the operating system's memory: survives kill -9, but not a power cut.
  kProcess = 1,
  // On the disk (fdatasync): survives a power cut.
  kPower = 2,
  // In the replicated log (StoreOptions::replication): survives the loss of this machine. It does
  // not wait for this machine's disk, which the log can replace. InvalidArgument in a store that is
  // not replicated.
  kReplicated = 3,
};

// A lane is an integer priority: a higher lane is handed out strictly before a lower one, and a
// lane is first in, first out. Two lanes have names. (The numbers are those with which
// controller-runtime marks live and initial-list events.)
using Lane = int32_t;
inline constexpr Lane kFastLane = 0;
inline constexpr Lane kSlowLane = -100;

// The order in which a queue hands out its keys.
enum class Order : uint8_t {
  kFifo = 0,        // One lane, kFastLane.
  kTwoLanes = 1,    // kFastLane and kSlowLane.
  kLanes = 2,       // QueueOptions::lanes.
  kPriorities = 3,  // Every 32-bit integer is a lane.
  kFair = 4,        // As kLanes; within a lane the groups take turns.
};

// What another Add of a key that waits (it is dirty or delayed) does to its lane. The first Add of
// a key since it was handed out sets the lane in any case.
enum class ReAdd : uint8_t {
  kSetsLane = 0,    // The lane of the latest Add counts, as in a queue with two lanes.
  kRaisesLane = 1,  // The highest lane counts, as in controller-runtime's priority queue.
};

// What the Add of a quarantined key does.
enum class QuarantinedAdd : uint8_t {
  kHold = 0,     // Nothing: the key stays in quarantine until Release or Drop.
  kRelease = 1,  // Takes it out of quarantine, clears its failures, and adds it.
};

// Which end counts if AddAfter finds a delay of the key.
enum class DelayMode : uint8_t {
  kEarliest = 0,  // The earlier one, as in client-go: a delay is a reminder that comes in time.
  kReplace = 1,   // That of this call.
  // This call's is a resync: see QueueOptions::resync. It replaces a resync only, and any other
  // delay replaces it.
  kResync = 2,
};

// Reconciles each key again from time to time: see QueueOptions::resync.
struct Resync {
  std::chrono::microseconds period{0};  // 0: no key is resynced by itself.
  double jitter = 0.1;                  // Each key's period differs by up to this part. 0 to 0.5.

  friend bool operator==(const Resync&, const Resync&) = default;
};
inline constexpr std::chrono::microseconds kMinResync = std::chrono::milliseconds{1};

// Gathers Adds of a key that come in quick succession: see QueueOptions::debounce.
struct Debounce {
  std::chrono::microseconds quiet{0};     // 0: Adds are not gathered.
  std::chrono::microseconds max_wait{0};  // At least `quiet`.

  friend bool operator==(const Debounce&, const Debounce&) = default;
};

// How fast keys are handed out, at most: a token bucket, which holds `burst` tokens and regains
// `per_second` of them. A hand-out takes one. So in any span of t seconds there are at most
// burst + 1 + per_second * t hand-outs; keys that wait at a rate are handed out at exactly that
// rate, as long as workers ask for them.
struct Rate {
  double per_second = 0;  // 0: no bound. Otherwise kMinRate to kMaxRate.
  uint32_t burst = 1;     // 1 to kMaxBurst.

  friend bool operator==(const Rate&, const Rate&) = default;
};
inline constexpr double kMinRate = 1e-6;  // One hand-out in 11 days.
inline constexpr double kMaxRate = 1e6;
inline constexpr uint32_t kMaxBurst = 1'000'000;

// What bounds the hand-outs of one group's keys: see QueueOptions::group_limits.
struct GroupLimits {
  uint32_t max_processing = 0;  // How many of them workers hold at a time. 0: no bound.
  Rate rate = {};               // Of their hand-outs.

  friend bool operator==(const GroupLimits&, const GroupLimits&) = default;
};

// What the Add of a key does that would be one more pending key of a full queue.
enum class WhenFull : uint8_t {
  kWait = 0,    // Waits until there is room: see AddOptions::wait_for_room.
  kRefuse = 1,  // Returns Full.
};

// A change of ownership: see Replication::on_leadership.
struct Leadership {
  bool owner = false;    // Whether this process owns the store now.
  uint64_t epoch = 0;    // Of the ownership that has begun or ended.
  std::string why = {};  // Why it has ended: "resigned", "the lease could not be renewed: …".
};

// How a store is replicated (docs/replication.md). One process, the owner, has the store's queues;
// the others follow it, each with a copy of its own, and one of them becomes the owner when it
// ends.
struct Replication {
  // Where the log is: OpenEtcdLog (etcd_log.h). The same for all replicas of a store.
  std::shared_ptr<ReplicatedLog> log = nullptr;

  // The name of this replica: 1 to 64 of [A-Za-z0-9._-], unlike that of every other replica of the
  // store, and the same after a restart.
  std::string name = {};

  // How long an owner that cannot renew its ownership keeps it. A shorter lease ends it sooner
  // after a crash, and more often without need. At least 2 s, whole seconds. Default: 5 s.
  std::chrono::milliseconds lease{5000};

  // An owner stops this much before its lease can have ended. Default: 500 ms.
  std::chrono::milliseconds lease_margin{500};

  // A write that the log refuses or does not answer is repeated for so long; then the store is
  // failed (Store::Health) until the log works again. At most kMaxDelay; a negative one is 0.
  // Default: 10 s.
  std::chrono::milliseconds write_timeout{10'000};

  // Entries are kept for replicas that lag up to this many bytes; one that lags further begins anew
  // from the checkpoint. Default: 64 MiB.
  size_t max_log_bytes = size_t{64} << 20;

  // Whether this replica may become the owner. Off: it only follows. Default: on.
  bool candidate = true;

  // Called at each begin and end of this process's ownership, by a thread of the store that holds
  // no lock. At the begin: OpenQueue may be called from now on. At the end: the queues are closed
  // already. It delays what comes next until it returns: at the begin nothing but the next end; at
  // the end, that this process follows again. It must not call Close, Resign or WaitForLeadership.
  // Default: nullptr, no call.
  std::function<void(const Leadership&)> on_leadership = nullptr;
};

struct StoreOptions {
  // Creates the store if the directory has none. Default: off; a missing store is NotFound, and
  // nothing is created.
  bool create_if_missing = false;

  // Refuses an existing store with AlreadyExists. Default: off.
  bool error_if_exists = false;

  // The source of time. Borrowed; must outlive the store. Default: nullptr, which is
  // Clock::System().
  Clock* clock = nullptr;

  // Bounds the write-ahead log, and so the time and the memory that opening after a kill takes: it
  // reads the whole log into memory. A smaller bound flushes more often. Default: 64 MiB.
  size_t max_wal_bytes = size_t{64} << 20;

  // Flushes the unflushed records of one column family to a table file at this size. A larger
  // buffer costs memory and flushes less often. Default: 24 MiB.
  size_t write_buffer_bytes = size_t{24} << 20;

  // The size of the process log: a file of the store, mapped into memory, to which each change is
  // copied first. So a call at kProcess waits for nothing. The file exists while the store is open;
  // its space is allocated at once, and it is rounded up to pages. 0, a disk that lacks the space,
  // or a file system that cannot map files safely (docs/recovery.md): calls at kProcess wait for a
  // write to the database (Store::ProcessLogStatus says why). Default: 8 MiB; at most 1 GiB.
  size_t process_log_bytes = size_t{8} << 20;

  // Bounds how long a write that no call waits for (kAsync; the removal of a key that is Done) is
  // deferred; the next write takes it earlier. In a store without a process log, a crash before
  // that loses it: the key is handed out once more. A shorter interval costs more writes. What is
  // above kMaxDelay is cut to it, and a negative one is 0. Default: 10 ms.
  std::chrono::milliseconds flush_interval{10};

  // Makes kAsync calls wait for the writer when more than this is unwritten and not in the process
  // log: it bounds the memory between a fast producer and a slow disk. Default: 8 MiB.
  size_t max_batch_bytes = size_t{8} << 20;

  // Backoff of the attempts to recover a failed store (Store::Health), each of which opens it anew
  // and writes what the disk lacks. The first attempt is made after recovery_backoff_min, each
  // further one after twice the wait, at most recovery_backoff_max. After an attempt that found
  // damaged files or another owner, which seldom passes, the wait is recovery_backoff_max at once.
  // What is above kMaxDelay is cut to it: then only Store::Recover makes an attempt.
  // Default: 100 ms and 30 s.
  std::chrono::milliseconds recovery_backoff_min{100};
  std::chrono::milliseconds recovery_backoff_max{30'000};

  // Called when the store fails, with NotDurable and the failure, and when it has recovered, with
  // Ok. The caller is a thread of the store that holds no lock: the function may call the store and
  // its queues, except Recover and Close, and delays the next attempt until it returns. Default:
  // nullptr, no call.
  std::function<void(const Status&)> on_health = nullptr;

  // Receives the metrics of the store and its queues; see metrics.h. Default: nullptr, nothing is
  // measured.
  std::shared_ptr<MetricsProvider> metrics = nullptr;

  // Records the last events of each key (history.h) in the folder history/ of the store, in at most
  // this many bytes: the oldest are deleted. It costs 1 MiB of memory for each open queue, and a
  // copy of each event; no call waits for it. A store in memory records nothing. Default: 0, off;
  // at least 1 MiB.
  size_t history_bytes = 0;

  // While events are recorded, those older than this and an eighth are deleted, too. Default: 0,
  // any age; at least a minute.
  std::chrono::microseconds history_age{0};

  // Makes the store one of several replicas. A store that exists becomes the first one if the log
  // is new. Default: nullopt, the store is on this machine only.
  std::optional<Replication> replication = std::nullopt;
};

struct QueueOptions {
  // Creates the queue if the store has none of this name. Default: on; when off, a missing queue is
  // NotFound.
  bool create_if_missing = true;

  // The order of hand-outs. It may differ from the last opening's: keys of a lane that the new
  // order lacks move to the back of kFastLane. Default: kFifo.
  Order order = Order::kFifo;

  // The lanes of Order::kLanes and kFair, each once; kFastLane is always included. Default: none.
  std::vector<Lane> lanes = {};

  // What another Add of a key that waits does to its lane. Default: kSetsLane.
  ReAdd re_add = ReAdd::kSetsLane;

  // Prevents starvation: while lanes below the highest have keys, one of this many hand-outs is of
  // such a lane. They take turns: next is the first lane below the one that was served so the last
  // time, and after the lowest the one below the highest. Hand-outs count while a lower lane has a
  // key that limits do not hold back. 1 would never serve the highest lane and is InvalidArgument.
  // Default: 0; higher lanes are served strictly first.
  uint32_t starvation_bound = 0;

  // Computes the group of a key (a namespace, a tenant, the node a pod runs on), for Order::kFair,
  // group_limits and shards. Called outside the queue's locks, at the Add or Quarantine that makes
  // a key known; the group is kept with the key from then on, on disk too. AddOptions::group takes
  // precedence. A key without a group is in the empty group under kFair, and is a group by itself
  // for shards. Default: nullptr, no groups.
  std::function<std::string(std::string_view key)> group_of = nullptr;

  // What bounds the keys of each group. A key whose group is at its limits waits in its place, and
  // costs a Get nothing: the next key that may be is handed out. Keys without a group have no
  // group's limits. The tokens of a rate are not stored, so a restart is a new burst. Default:
  // none.
  GroupLimits group_limits = {};

  // What bounds all keys of the queue, with and without a group. Default: none.
  GroupLimits limits = {};

  // Spreads keys over this many shards by their group (xxh3 of its bytes, modulo shards). At most
  // one key of each shard is processing at a time, and keys are handed out through Queue::Join. At
  // most kMaxShards; it may differ from the last opening's. Default: 0, no shards.
  uint32_t shards = 0;

  // Quarantines a key that fails after this many requeues. Default: 0, never.
  uint64_t max_requeues = 0;

  // What the Add of a quarantined key does. Default: kHold.
  QuarantinedAdd quarantined_add = QuarantinedAdd::kHold;

  // Gathers the Adds of a key: it is not queued at once, but delayed until `quiet` has passed since
  // its last Add, at most until `max_wait` has passed since its first. So a burst of events is one
  // hand-out, and a key that never comes to rest is handed out all the same. The delay is kept over
  // a restart. An Add of a key that is queued already is deduplicated; an earlier delay (a retry)
  // stays, and a later one is replaced. Needs 0 <= quiet <= max_wait <= kMaxDelay. Default: none.
  Debounce debounce = {};

  // Adds each key again, to kSlowLane if the order has it, when a period has passed since its last
  // Done. That is a delay, which Done sets unless the key has another one, and which is kept over a
  // restart. A key that is reconciled before is put off: a Done moves the delay if that makes it
  // later by a tenth. A key whose object is gone is to be Deleted while it is held: then its Done
  // ends the resync. So does CancelDelay, until the next Done. AddAfter with DelayMode::kResync
  // gives a key a period of its own until it is resynced, also in a queue without one.
  // Keys are resynced evenly: at no time faster than 1.1 times the rate at which they would come if
  // they were spread over their periods, in rounds at least 10 ms apart. So those that fell due
  // together, or while the process was down, are late by up to a period: their own, or that of keys
  // whose period is less than twice as long. Needs kMinResync <= period <= kMaxDelay.
  // Default: none.
  Resync resync = {};

  // Bounds the pending keys: those that are queued or held. A queue that has as many is full, and
  // when_full says what the Add of one more does. What makes no key more is never held up: the Add
  // of a pending key, a delay that ends, a retry, a release. An Add that waits already goes on to
  // wait, though its key becomes pending. Default: 0, no bound.
  size_t max_pending = 0;

  // What an Add does that would exceed max_pending. Default: kWait.
  WhenFull when_full = WhenFull::kWait;

  // The durability of calls that name none. Default: kProcess.
  Durability durability = Durability::kProcess;

  // Bounds a key's bytes, kMaxKeyBytes at most; a longer key is InvalidArgument, unless a worker
  // holds it: then the queue had it before this was lowered. Default: 4096.
  size_t max_key_bytes = 4096;

  // Decides the delay of AddRateLimited. Default: nullptr, which is
  // ItemExponentialFailure(5 ms, 1000 s).
  std::shared_ptr<Limiter> limiter = nullptr;

  // Merges the Adds of a key into one hand-out at the earliest of their times, as in
  // controller-runtime: an Add of a delayed key cancels its delay, and AddAfter or AddRateLimited
  // of a dirty key is an Add. A held key may be delayed; if the process dies, it is queued again
  // and keeps the delay as well. Default: off, because an AddAfter is a reminder for later, as in
  // client-go, which an Add in between must not cancel.
  bool merge_delays = false;

  // Counts a key in QueueCounts::stuck from so long after its hand-out (to a remote worker: after
  // its assignment) until its Done. Nothing else happens to it. Default: 0, no key counts as stuck.
  std::chrono::microseconds stuck_after{0};
};

inline constexpr size_t kMaxKeyBytes = size_t{64} << 10;
// A longer group is InvalidArgument; of what QueueOptions::group_of returns the first bytes count.
inline constexpr size_t kMaxGroupBytes = 1024;
inline constexpr uint32_t kMaxShards = 65535;
inline constexpr size_t kMaxCursorBytes = size_t{64} << 10;

// Longer error texts are cut to this many bytes, on a UTF-8 boundary.
inline constexpr size_t kMaxErrorBytes = 1024;

// Longer delays are cut to this: about a hundred years.
inline constexpr std::chrono::microseconds kMaxDelay = std::chrono::hours{24 * 36525};

// --- Why a key needs work ---
//
//   s = pods->Add("default/web-1", {.reason = "Node ready", .trace_parent = span.ToHeader()});
//   …
//   for (const wq::Cause& cause : held.causes.list) log(cause.reason);
//
// Equal keys are merged, and so are their causes: the key is handed out with those of all its Adds
// since it was handed out last. At most kMaxCauses distinct ones with kMaxCauseBytes together are
// kept; the others are counted. A failure's retry has the causes of what failed. Causes only
// explain: they change nothing of when, whether and in which order a key is handed out. They are as
// durable as the Adds that brought them.

struct Cause {
  std::string reason = {};        // UTF-8 without control characters; empty: none.
  std::string trace_parent = {};  // The header `traceparent` of W3C Trace Context; empty: none.

  friend bool operator==(const Cause&, const Cause&) = default;
};

struct Causes {
  std::vector<Cause> list = {};  // In the order of their first Adds.
  uint64_t left_out = 0;         // At least so many Adds had a cause for which there was no room.

  bool empty() const { return list.empty() && left_out == 0; }
  friend bool operator==(const Causes&, const Causes&) = default;
};

inline constexpr size_t kMaxCauses = 8;
inline constexpr size_t kMaxCauseBytes = 1024;  // Of all reasons and traces of a key.
inline constexpr size_t kMaxReasonBytes = 256;

// InvalidArgument: the reason is longer than kMaxReasonBytes, is not UTF-8 or has a control
// character; or `trace_parent` is neither empty nor as the version 00 of
// https://www.w3.org/TR/trace-context/ says:
// "00-" 32 hexadecimal digits, not all 0 "-" 16 of them, not all 0 "-" 2 of them; in lower case.
Status CheckCause(std::string_view reason, std::string_view trace_parent);

struct AddOptions {
  // The lane to add the key to. Default: the lane that the key has already (queued, delayed, held
  // by a worker or in quarantine), else kFastLane. So a requeue keeps its lane.
  std::optional<Lane> lane = std::nullopt;

  // The durability of this call. Default: the queue's.
  std::optional<Durability> durability = std::nullopt;

  // The key's group, if the queue does not know its group yet. Default: QueueOptions::group_of.
  std::optional<std::string_view> group = std::nullopt;

  // Bounds the limiter's delay of AddRateLimited; 0 or less: the key is added at once. The failure
  // is counted in any case. Default: no bound.
  std::optional<std::chrono::microseconds> max_delay = std::nullopt;

  // Of AddAfter: which end counts if the key is delayed already. Default: kEarliest.
  DelayMode delay_mode = DelayMode::kEarliest;

  // Of Add and AddBatch: gathers the Adds of the key, as QueueOptions::debounce says; with a
  // `quiet` of 0 the key is queued at once. Default: the queue's.
  std::optional<Debounce> debounce = std::nullopt;

  // Of Add and AddBatch under WhenFull::kWait: how long to wait for room, at most. Default: until
  // there is room.
  std::optional<std::chrono::microseconds> wait_for_room = std::nullopt;

  // Why the key needs work, and the trace context of that: see Cause. Default: empty, none.
  std::string_view reason = {};
  std::string_view trace_parent = {};

  // Of all but AddRateLimited: a key that is dirty, held, delayed, failing or quarantined is left
  // as it is, and the outcome is kDeduplicated. For who lists all keys without knowing which have
  // changed; with versions, see source.h. Default: off.
  bool if_absent = false;
};

}  // namespace wq
