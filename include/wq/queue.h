// Queue: a durable, deduplicating work queue of keys that need to be reconciled.
//
//   std::string key;
//   while (queue->Get(&key).ok()) {              // Blocks; ends at ShutDown.
//     wq::Status s = reconcile(key) ? queue->Forget(key) : queue->AddRateLimited(key, "why");
//     s = queue->Done(key);
//   }
//
// A key names an object that needs work; it does not say what happened to the object. So equal keys
// are merged: a key is queued at most once, and two workers never hold it at the same time.
//
//   state of the key     Add                          Get             Done
//   -------------------  ---------------------------  --------------  --------------------------
//   clean                -> queued, back of its lane  -               NotProcessing
//   queued               deduplicated; with another   -> processing   NotProcessing
//                        lane -> back of that lane
//   processing           -> processing and dirty      -               -> clean
//   processing + dirty   deduplicated; as queued      -               -> queued, back of its lane
//
// Besides, a key may be delayed (it becomes an Add when it is due) and may have a failure count.
//
// Keys are arbitrary bytes, NUL included: 1 to QueueOptions::max_key_bytes of them.
// Threading: thread-safe. Lifetime: the Store's.
// A crash: dirty and processing keys are queued again, each once, in the order in which they
// were queued last: so a key that was processing comes before those that were queued behind it.
// Delays and failure counts are kept. A call that was acknowledged at its durability level is
// never lost; Durability says what else may be.
//
// Every changing call may also return
//   ShuttingDown   after ShutDown, Stop or Store::Close, where said; nothing changed.
//   NotDurable     applied in memory, but the store failed (Store::Health gives the reason).
// and Blocks: for at most one write of the store, as its durability asks.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wq/options.h"
#include "wq/status.h"

namespace wq {

enum class AddOutcome : uint8_t {
  kAdded = 0,         // The key needs work that it did not need before.
  kDeduplicated = 1,  // It was dirty already; AddAfter: or its delay stays; debounced: or delayed.
  kHeld = 2,          // It is quarantined, and stays so.
};

// The result of AddBatch.
struct BatchResult {
  size_t added = 0;
  size_t deduplicated = 0;
  size_t held = 0;                                 // Quarantined keys.
  std::vector<std::pair<size_t, Status>> refused;  // Index of the key, and the reason.
};

// A queue's counters, all of one instant.
struct QueueCounts {
  size_t queued = 0;      // Ready to be handed out; equal to Len().
  size_t processing = 0;  // Held by workers.
  size_t delayed = 0;
  std::optional<int64_t> next_due_us;  // Until the next delay ends, resyncs left out; unset: none.
  size_t failing = 0;                  // Keys with a failure count, except quarantined keys.
  size_t quarantined = 0;
  size_t resyncs = 0;    // Of those delayed: QueueOptions::resync.
  size_t stuck = 0;      // Held for longer than QueueOptions::stuck_after.
  size_t held_back = 0;  // Queued, but may not be handed out now, by the queue's limits.
  // Queued, by lane: of the kMaxCountedLanes lanes with the most keys. A lane without a key is left
  // out.
  std::map<Lane, size_t> lanes;
  size_t other_lanes = 0;  // Queued in the lanes that are not in `lanes`.
  // When the oldest key was added that is the first of its lane or group, or that came back behind
  // later ones, since workers died of it. Wall time in microseconds; unset: none is queued.
  std::optional<int64_t> oldest_added_at_us = std::nullopt;
  bool paused = false;
  // When the pause ends by itself, wall time in microseconds; 0: the queue is not paused, or until
  // Resume.
  int64_t paused_until_us = 0;
  // Totals since the queue was opened; their differences are rates.
  uint64_t adds = 0;   // A key became dirty: Adds, delays that ended, releases; not deduplicated.
  uint64_t dones = 0;  // A worker was done with a key.
  uint64_t failures = 0;  // AddRateLimited counted a failure.
  uint64_t full = 0;      // An Add found the queue full: it waited, or was refused.
};

inline constexpr size_t kMaxCountedLanes = 100;
inline constexpr size_t kMaxListed = 1000;  // Keys of Queue::List.

// A queued key with its lane and group.
struct QueuedKey {
  std::string key;
  Lane lane = kFastLane;
  std::string group;  // Empty: none.
};

// A quarantined key and its last failure. Times are microseconds since 1970-01-01T00:00:00Z.
struct QuarantinedKey {
  std::string key;
  uint64_t failures = 0;
  std::string last_error;
  int64_t quarantined_at_us = 0;
};

// A key that TryGet has handed out. `added_at_us` is the wall time of the last Add that made the
// key dirty, in microseconds since 1970-01-01T00:00:00Z.
struct HeldKey {
  std::string key;
  Lane lane = kFastLane;
  std::string group;       // Empty: none.
  uint64_t failures = 0;   // As NumRequeues.
  std::string last_error;  // Of the last failure; empty if there is none.
  int64_t added_at_us = 0;
  Causes causes;  // Of the Adds since the last hand-out.
};

// All that a queue in memory knows of a key. A key can be in several states at once: processing and
// delayed, delayed and failing, … Times are microseconds since 1970-01-01T00:00:00Z.
struct KeyInfo {
  std::string_view key;
  bool queued = false;
  bool processing = false;
  bool delayed = false;
  bool failing = false;  // It has a failure count, and is not quarantined.
  bool quarantined = false;
  bool added_again = false;       // It is processing, and was added since it was handed out.
  Lane lane = kFastLane;          // Of a quarantined key: the one that a release adds it to.
  std::string_view group;         // Empty: none.
  std::optional<uint32_t> shard;  // Only in a queue with shards.
  int64_t added_at_us = 0;        // When it became dirty, or was delayed; 0: neither.
  int64_t ready_at_us = 0;        // When its delay ends; 0: it is not delayed.
  int64_t delay_us = 0;           // As asked for; of a debounced key from its first Add on.
  uint64_t failures = 0;          // Since the last Forget.
  int64_t first_failed_at_us = 0;
  int64_t last_failed_at_us = 0;
  std::string_view last_error;
  int64_t quarantined_at_us = 0;
  bool resync = false;  // Its delay is one until its resync. False of a store on disk: not known.
};

// Returns false to stop. The bytes of the key's information are borrowed for the call.
using KeyVisitor = std::function<bool(const KeyInfo&)>;

class ReadyListener;
class Source;
struct SourceInfo;
class Worker;

class Queue {
 public:
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // --- Adding ---

  // Marks `key` as needing work. A deduplicated Add is acknowledged only when the record that
  // represents the key is as durable as this call asks for.
  //   InvalidArgument  an empty or oversized key, a lane that the order does not have.
  //   Full             the queue has QueueOptions::max_pending keys; nothing changed.
  // Blocks: also while the queue is full, under WhenFull::kWait. A worker that adds keys and waits
  // so holds up the Done of its own key.
  Status Add(std::string_view key, const AddOptions& options = {}, AddOutcome* outcome = nullptr);

  // Adds each key in turn, with one wait for all of them. A key that is invalid, or for which a
  // full queue has no room, is refused and listed in the result; the other keys are added, and the
  // status is still Ok.
  Status AddBatch(std::span<const std::string_view> keys, const AddOptions& options = {},
                  BatchResult* result = nullptr);

  // Adds `key` once `delay` has passed; never earlier. A key has at most one delay: the earlier
  // ready_at wins, or the one that AddOptions::delay_mode says. delay <= 0 is Add, which is not
  // gathered; a delay above kMaxDelay is cut to it. A restart keeps the ready_at; a key that became
  // due while the process was down is ready at once. After ShutDown, a worker that adds the key it
  // holds with delay <= 0 delays it by 1 us: it stays in the store.
  Status AddAfter(std::string_view key, std::chrono::microseconds delay,
                  const AddOptions& options = {}, AddOutcome* outcome = nullptr);

  // Counts one failure of `key`, keeps its error text, and adds the key after the limiter's delay:
  // one atomic step, on disk too. kHeld: the key is quarantined. Either this failure exceeded
  // QueueOptions::max_requeues, or the key was in quarantine before.
  // The limiter receives the key, its failure count before this call (0 at first) and the time. It
  // is asked before the queue decides, once for each call that is not refused when it begins. So a
  // call that quarantines the key, or finds it quarantined, takes a token of a Bucket too. The
  // queue asks for one delay at a time. A Forget, Release or Drop of the key at the same time may
  // take effect between the answer and the counting: the count then begins at 1, with the delay of
  // the earlier count.
  Status AddRateLimited(std::string_view key, std::string_view error = {},
                        const AddOptions& options = {}, AddOutcome* outcome = nullptr);

  // --- Cancelling ---

  // Removes a queued key; of a key that is processing, cancels the Add since Get. Its delay and
  // failure count stay. NotFound: it is not dirty.
  Status Remove(std::string_view key);

  // Cancels the delay of `key`. NotFound: it is not delayed.
  Status CancelDelay(std::string_view key);

  // Ends the delay of `key` now: it becomes an Add, as when it is due. NotFound: it is not delayed.
  Status EndDelay(std::string_view key);

  // Deletes all that the queue has of `key`, in whatever state it is: its Add, its delay, its
  // failure count, its quarantine; in one atomic step. A worker that holds the key keeps it until
  // Done, and may add it again; a crash before that Done queues it again, as every key that is
  // processing. NotFound: the queue has nothing of the key.
  Status Delete(std::string_view key);

  // Clears the failure count of `key`. A worker still has to call Done. Ok also if the count is 0.
  Status Forget(std::string_view key);

  // Returns how often `key` has failed since its last Forget; survives restarts.
  uint64_t NumRequeues(std::string_view key) const;

  // --- Handing out ---

  // Hands out the next key by the queue's order, and its lane. The caller holds it until Done.
  //   ShuttingDown     the queue is shutting down and empty or paused, or it is stopped.
  //   InvalidArgument  the queue has shards; see Join.
  // Blocks: until a key is queued and the queue is not paused.
  Status Get(std::string* key, Lane* lane = nullptr);
  // Hands out as Get does. TimedOut: `timeout` of real time has passed; 0 never blocks.
  Status GetFor(std::chrono::microseconds timeout, std::string* key, Lane* lane = nullptr);

  // Hands out at most `limit` keys that are queued now, in the queue's order, and appends them to
  // *keys. The caller holds each until Done. TimedOut: none; otherwise as Get. Never waits for a
  // key.
  Status TryGet(size_t limit, std::vector<HeldKey>* keys);

  // Ends the processing of `key`; if it was added since Get, it is queued again. Writes nothing by
  // itself: the removal reaches the disk with the next write, or within
  // StoreOptions::flush_interval. Works after ShutDown. NotProcessing: no worker holds the key.
  Status Done(std::string_view key);

  // Gives back `key` undone: it is queued again, at the front of its lane, and no failure is
  // counted. The order kFair serves its group next. So keys that are given back newest first are
  // handed out as if they had not been. What happened to the key since Get:
  //   added again   one hand-out, in the lane that the Adds since Get have set.
  //   delayed       the delay stays; under merge_delays it is cancelled, as by an Add.
  //   quarantined   the key stays in quarantine and is not queued.
  //   deleted       it is queued again.
  // After ShutDown the key is queued as well; after Stop it stays in the store. After a crash its
  // place is by its age: before the keys that were queued behind it in its lane. Writes at most
  // what Done would, and mostly nothing. NotProcessing: no worker holds the key.
  Status PutBack(std::string_view key);

  // Notes in the store's history (history.h) who has got these keys, which the caller has just
  // taken by TryGet. Costs nothing in a store without a history. A longer name than
  // kMaxHistoryErrorBytes is cut.
  void NoteWorker(std::span<const HeldKey> keys, std::string_view name);

  // Reports whether `key`, held by a worker, was added again since Get: the work is stale.
  bool AddedAgain(std::string_view key) const;

  // Reads why `key` needs work: if a worker holds it, the causes with which it was handed out, as
  // in HeldKey; otherwise those of the next hand-out. NotFound: it is neither dirty, held nor
  // delayed.
  Status CausesOf(std::string_view key, Causes* causes) const;

  // For event loops, and schedulers of other languages, that take keys without a thread that blocks
  // in Get. Calls `on_ready` after every change by which a Get that found nothing may now return a
  // key, or ShuttingDown, until the returned object is destroyed: keys became ready, shards moved
  // to another worker, the queue shuts down. A key that was ready before this call is not reported,
  // so call TryGet after it; and after a TryGet that timed out, repeat it at the next call, and not
  // before. Another Get may take the key first: then the repeated TryGet times out again. Called by
  // the thread that made the change, or by the store's timer: outside all locks, by several threads
  // at once. It must be short, and must neither throw nor close the store. Any number of listeners.
  std::unique_ptr<ReadyListener> ListenReady(std::function<void()> on_ready);

  // --- Shards ---

  // Makes the caller a worker of a queue with shards. The shards are spread evenly over the
  // workers; a worker beyond the number of shards waits until another leaves. InvalidArgument: no
  // shards.
  Status Join(std::unique_ptr<Worker>* worker);

  // --- Quarantine ---

  // Takes `key` out of the queue and keeps it, with its failures, until it is released or dropped.
  // Its delay is cancelled. A worker that holds it still has to call Done.
  Status Quarantine(std::string_view key, std::string_view error = {});
  // Adds a quarantined key again and clears its failures. NotFound: it is not quarantined.
  Status Release(std::string_view key);
  // As Release, but the key is delayed for so long before it is added, at most kMaxDelay. 0 or
  // less: Release.
  Status ReleaseAfter(std::string_view key, std::chrono::microseconds delay);
  // Deletes a quarantined key and its failures. NotFound: it is not quarantined.
  Status Drop(std::string_view key);
  bool IsQuarantined(std::string_view key) const;
  // Returns the quarantined keys behind the key `after`, sorted by key, at most `limit`. So they
  // can be paged through, by the last one of the page before, while others come and go. Costs O(log
  // of them), and the lock is taken for a few keys at a time, as by List.
  std::vector<QuarantinedKey> Quarantined(std::string_view after = {},
                                          size_t limit = SIZE_MAX) const;

  // --- Cursors ---

  // Stores `value` under `name`, in order with the calls before it: after a crash, every Add before
  // the cursor that is found is found too. So a program (by a watch's resource version, an offset)
  // resumes where the queue's contents end. A name is 1 to 64 of [A-Za-z0-9._-]; a value has at
  // most kMaxCursorBytes.
  Status SetCursor(std::string_view name, std::string_view value);
  // Reads the value. NotFound: the cursor does not exist.
  Status GetCursor(std::string_view name, std::string* value) const;
  // Deletes the cursor. NotFound: it does not exist.
  Status EraseCursor(std::string_view name);
  std::map<std::string, std::string> Cursors() const;

  // --- Sources (source.h) ---

  // Returns a handle of the source, which is made if there is none. A name is as that of a cursor.
  // InvalidArgument: a bad name; kMaxSources is exceeded; the store is in memory only.
  Status OpenSource(std::string_view name, Source* source);
  // Removes the source and all that it remembers; its keys stay. NotFound: there is none. Blocks:
  // for a sync, whatever the queue's durability, and for erasing its objects; what a crash leaves
  // of them is erased when the queue is opened.
  Status RemoveSource(std::string_view name);
  std::vector<SourceInfo> Sources() const;  // By name.

  // --- Pausing ---

  // Hands out nothing until Resume, or for `duration` if it is given; across restarts too (where
  // the end of a pause is wall-clock time). Adds, delays and Done go on. InvalidArgument: a
  // `duration` of 0 or less.
  Status Pause(std::optional<std::chrono::microseconds> duration = std::nullopt);
  // Ends the pause.
  Status Resume();

  // --- Reading ---

  size_t Len() const;  // Queued keys only.
  // All of one instant; but of more than a thousand lanes, `lanes` is counted in pieces, while the
  // queue goes on.
  QueueCounts Counts() const;
  // Returns the first queued keys in the order in which they would be handed out, all of one
  // instant: at most `limit` and at most kMaxListed, and no more once their bytes are 256 KiB.
  // Limits and the starvation bound are not predicted; of a queue with shards they come shard by
  // shard. To find others, see Scan.
  std::vector<QueuedKey> List(size_t limit = kMaxListed) const;
  // Counts the queued keys that are before `key` in its shard: those of higher lanes, and those of
  // its lane that came before it. Limits and the starvation bound are not predicted, and a key that
  // was given back counts by its age. With Order::kFair, of its lane: those of its group that came
  // before it, and as many of each other group, if it has so many. The queue goes on meanwhile, as
  // during Scan: a key that stays is counted if it is before the place that `key` had at the begin
  // of the call. Costs O(all keys). NotFound: `key` was not queued then.
  Status PositionOf(std::string_view key, size_t* position) const;

  // Calls `visit` with every key of which the queue knows anything, in no order, until it returns
  // false. The queue goes on meanwhile: its lock is taken for some ten microseconds
  // at a time, and never while `visit` runs. So it is no snapshot: a key is shown as it was at some
  // moment of the call. A key that is in the queue during the whole call is visited exactly once; a
  // key that comes or goes meanwhile, at most once. A delay that has ended may still be shown.
  Status Scan(const KeyVisitor& visit) const;
  // Calls `visit` with one key. NotFound: the queue has nothing of it.
  Status Inspect(std::string_view key, const std::function<void(const KeyInfo&)>& visit) const;

  // --- Shutting down ---

  // Refuses Adds from now on. Get hands out what is queued, then returns ShuttingDown. Delays no
  // longer fire. Keys that are not processed stay in the store. A worker may still call AddAfter
  // and AddRateLimited for a key that it holds: that entry stays in the store too.
  void ShutDown();
  // Drains: shuts down as ShutDown does, and waits.
  //   Ok            no key is processing, and none would be handed out: the queue is empty, or it
  //                 is paused, and then its queued keys stay in the store. Delayed keys stay too.
  //                 It does not say that the removals of Done are on disk: see Flush.
  //   TimedOut      `timeout` has passed.
  //   ShuttingDown  ShutDown or Stop was called during the drain.
  // Blocks: until one of these.
  Status ShutDownWithDrain(std::chrono::microseconds timeout);
  // Shuts down as ShutDown does, but Get returns ShuttingDown at once. Pending keys stay in the
  // store.
  void Stop();
  bool IsShuttingDown() const;

  // Makes everything that was done on this queue's store before this call as durable as asked for.
  // Blocks: for that write.
  Status Flush(Durability durability = Durability::kPower);

  const std::string& name() const;
  uint32_t shards() const;        // QueueOptions::shards.
  Durability durability() const;  // QueueOptions::durability.

  struct Impl;

 private:
  friend class ReadyListener;
  friend class DirectAccess;  // Of queue_access.h.
  friend class Store;
  explicit Queue(std::unique_ptr<Impl> rep);
  std::unique_ptr<Impl> impl_;
};

// A worker of a queue with shards. It serves some of them, and keeps them while no worker joins or
// leaves. Its destruction leaves: the other workers get its shards; keys that it holds stay held
// until Done or PutBack.
// Threading: thread-safe, but meant for one thread. Lifetime: within the queue's.
class Worker {
 public:
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Hand out as Queue's do, from the shards of this worker. Done and PutBack are Queue's.
  Status Get(std::string* key, Lane* lane = nullptr);
  Status GetFor(std::chrono::microseconds timeout, std::string* key, Lane* lane = nullptr);
  Status TryGet(size_t limit, std::vector<HeldKey>* keys);

  std::vector<uint32_t> Shards() const;  // Ascending.

 private:
  friend class Queue;
  Worker(Queue::Impl* queue, uint64_t id) : queue_(queue), id_(id) {}
  Queue::Impl* const queue_;
  const uint64_t id_;
};

// A listener of Queue::ListenReady. Lifetime: within the queue's.
class ReadyListener {
 public:
  // The function is not called after this has returned. Blocks: for calls under way. REQUIRES: not
  // called by the function.
  ~ReadyListener();
  ReadyListener(const ReadyListener&) = delete;
  ReadyListener& operator=(const ReadyListener&) = delete;

 private:
  friend class Queue;
  ReadyListener(Queue::Impl* queue, uint64_t id) : queue_(queue), id_(id) {}
  Queue::Impl* const queue_;
  const uint64_t id_;
};

}  // namespace wq
