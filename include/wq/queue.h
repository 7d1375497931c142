// Queue: a durable, deduplicating work queue of keys that need to be reconciled.
//
//   std::string key;
//   while (queue->Get(&key).ok()) {              // blocks; ends at ShutDown
//     wq::Status s = reconcile(key) ? queue->Forget(key) : queue->AddRateLimited(key, "why");
//     s = queue->Done(key);
//   }
//
// A key says "look at this object", never what happened to it. So keys are merged with themselves:
// a key is at most once queued, and two workers never hold it at once.
//
//   state of the key     Add                          Get             Done
//   -------------------  ---------------------------  --------------  --------------------------
//   clean                -> queued, back of its lane  -               NotProcessing
//   queued               deduplicated; may change     -> processing   NotProcessing
//                        lane, then at that back
//   processing           -> processing and dirty      -               -> clean
//   processing + dirty   deduplicated; latest lane    -               -> queued, back of its lane
//
// Beside that a key may be delayed (it becomes an Add when due) and may have failures counted.
//
// Keys are bytes: any, also NUL, 1 to QueueOptions::max_key_bytes of them.
// Threading: thread-safe. Lifetime: the Store's. A crash: dirty and processing keys come back as
// queued, each once, the ones that were processing first in their lane; delays and failure counts
// as they were. See Durability for what may be lost: never a call that was acknowledged at its
// level.
//
// Every changing call may also return
//   ShuttingDown   after ShutDown, Stop or Store::Close, where said; nothing changed.
//   NotDurable     applied in memory, but the store failed (Store::Health says why).
// and "Blocks" for at most one write of the store, by the durability asked for.
#pragma once

#include <chrono>
#include <cstdint>
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
  kDeduplicated = 1,  // It was dirty already (or delayed no later, for AddAfter).
  kHeld = 2,          // It is quarantined, and stays so.
};

// What AddBatch did.
struct BatchResult {
  size_t added = 0;
  size_t deduplicated = 0;
  size_t held = 0;                                 // Quarantined keys.
  std::vector<std::pair<size_t, Status>> refused;  // Index of the key, and why.
};

// A reading of a queue's counters, all of one instant.
struct QueueCounts {
  size_t queued = 0;      // Ready to be handed out; what Len() says.
  size_t processing = 0;  // Held by workers.
  size_t delayed = 0;
  size_t failing = 0;  // Keys with a failure count, the quarantined ones apart.
  size_t quarantined = 0;
  std::map<Lane, size_t> lanes;  // Queued, by lane; lanes without a key are left out.
  bool paused = false;
  // How often it happened since the queue was opened; differences are rates.
  uint64_t adds = 0;   // A key became dirty: Adds, delays that ended, releases; not deduplicated.
  uint64_t dones = 0;  // A worker was done with a key.
  uint64_t failures = 0;  // AddRateLimited counted one.
};

// A queued key and its place.
struct QueuedKey {
  std::string key;
  Lane lane = kFastLane;
  std::string group;  // Empty: none.
};

// What a key failed with, and since when. Times are microseconds since 1970-01-01T00:00:00Z.
struct QuarantinedKey {
  std::string key;
  uint64_t failures = 0;
  std::string last_error;
  int64_t quarantined_at_us = 0;
};

class Worker;

class Queue {
 public:
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // Marks `key` as needing work. A deduplicated Add is acknowledged only when the record that
  // stands for the key is as durable as this call asks for. InvalidArgument: an empty or oversized
  // key, a lane that the order does not have.
  // Quickest where nobody waits for the disk (kAsync, or a store in memory), asks for the `outcome`, or gives
  // a group: such an Add only leaves its key, and whoever uses the queue next makes it first, so that no call
  // can tell the difference and many threads can add side by side. Not so in a queue with metrics, on_ready or
  // group_of, nor, in a store on disk, while more than one queue is open.
  Status Add(std::string_view key, const AddOptions& options = {}, AddOutcome* outcome = nullptr);

  // As Add for each key in turn, with one wait for all. A bad key is refused, and listed in the
  // result, without harm to the others; the status is then Ok still.
  Status AddBatch(std::span<const std::string_view> keys, const AddOptions& options = {},
                  BatchResult* result = nullptr);

  // Adds `key` once `delay` has passed; never earlier. A key is delayed at most once: the earlier
  // instant wins. delay <= 0 is Add. Across a restart the instant is kept, and one that has passed
  // meanwhile is ready at once. Delays above kMaxDelay are cut to it.
  Status AddAfter(std::string_view key, std::chrono::microseconds delay,
                  const AddOptions& options = {}, AddOutcome* outcome = nullptr);

  // Counts one failure of `key`, with its error text, and adds the key after the limiter's delay:
  // one atomic step, on disk too. kHeld: it was one failure too many (QueueOptions::max_requeues), or
  // the key was quarantined before; it is in quarantine now.
  Status AddRateLimited(std::string_view key, std::string_view error = {},
                        const AddOptions& options = {}, AddOutcome* outcome = nullptr);

  // Takes a queued key back; of a key that is processing, the Add that came meanwhile. Its delay and
  // its failures stay. NotFound: it is not dirty.
  Status Remove(std::string_view key);

  // Takes back the delay of `key`. NotFound: it is not delayed.
  Status CancelDelay(std::string_view key);

  // Ends the delay of `key` now: it becomes an Add, as when it is due. NotFound: it is not delayed.
  Status EndDelay(std::string_view key);

  // Clears the failures of `key`. A worker still has to call Done. Ok also if there are none.
  Status Forget(std::string_view key);

  // How often `key` failed since its last Forget; survives restarts.
  uint64_t NumRequeues(std::string_view key) const;

  // Hands out the next key by the queue's order. The caller holds it until Done.
  // Blocks: until there is one and the queue is not paused. ShuttingDown: the queue is shutting down
  // and empty or paused, or it is stopped. InvalidArgument: the queue has shards; see Join.
  Status Get(std::string* key);
  // The same, with TimedOut after `timeout` of real time; 0 never blocks.
  Status GetFor(std::chrono::microseconds timeout, std::string* key);

  // The worker has finished with `key`. If it was added meanwhile it is queued again. Writes
  // nothing by itself: the removal reaches the disk with the next write, or within
  // StoreOptions::flush_interval. Works after ShutDown. NotProcessing: nobody holds the key.
  Status Done(std::string_view key);

  // Whether `key`, held by a worker, was added again since Get: the work is stale.
  bool AddedAgain(std::string_view key) const;

  // --- Shards ---

  // Makes the caller a worker of a queue with shards. The shards are spread evenly over the workers;
  // a worker beyond the number of shards waits until another leaves. InvalidArgument: no shards.
  Status Join(std::unique_ptr<Worker>* worker);

  // --- Quarantine ---

  // Takes `key` out of the queue and keeps it, with its failures, until it is released or dropped; its
  // delay is taken back. A worker that holds it still has to call Done.
  Status Quarantine(std::string_view key, std::string_view error = {});
  // Adds a quarantined key again, its failures forgotten. NotFound: it is not quarantined.
  Status Release(std::string_view key);
  // Forgets a quarantined key altogether. NotFound: it is not quarantined.
  Status Drop(std::string_view key);
  bool IsQuarantined(std::string_view key) const;
  std::vector<QuarantinedKey> Quarantined() const;  // By key.

  // --- Cursors ---

  // Keeps `value` under `name`, in order with the calls before it: after a crash, everything that was
  // added before the cursor that is found is there. So a source (a watch's resource version, an offset)
  // resumes where the queue's contents stop. A name is 1 to 64 of [A-Za-z0-9._-]; at most
  // kMaxCursorBytes.
  Status SetCursor(std::string_view name, std::string_view value);
  // NotFound: there is none.
  Status GetCursor(std::string_view name, std::string* value) const;
  Status EraseCursor(std::string_view name);
  std::map<std::string, std::string> Cursors() const;

  // --- Pausing ---

  // Nothing is handed out until Resume, or for `duration` if it is given; over restarts too (the end
  // of a pause is wall-clock time there). Adds, delays and Done go on.
  Status Pause(std::optional<std::chrono::microseconds> duration = std::nullopt);
  Status Resume();

  // --- Readings ---

  size_t Len() const;  // Queued keys only.
  QueueCounts Counts() const;
  // The queued keys in the order in which they would be handed out, from `offset`, at most `limit`.
  // (Starvation bounds are not foreseen.) Holds the queue's lock while it counts.
  std::vector<QueuedKey> List(size_t offset, size_t limit) const;
  // How many keys would be handed out before `key`. NotFound: it is not queued. As List.
  Status PositionOf(std::string_view key, size_t* position) const;

  // Refuses Adds from now on; Get hands out what is queued, then reports ShuttingDown. Delays do
  // not fire any more. What is not worked off stays in the store.
  // A worker may still call AddAfter and AddRateLimited for the key that it holds: that stays in the
  // store too.
  void ShutDown();
  // As ShutDown, and returns Ok when nothing is queued and nothing is processing, or TimedOut after
  // `timeout`, or ShuttingDown when ShutDown or Stop is called meanwhile. Blocks.
  Status ShutDownWithDrain(std::chrono::microseconds timeout);
  // As ShutDown, and Get reports ShuttingDown at once. What is pending stays in the store.
  void Stop();
  bool IsShuttingDown() const;

  // All that was done on this queue's store before this call is as durable as asked for. Blocks.
  Status Flush(Durability durability = Durability::kPower);

  const std::string& name() const;

  struct Impl;

 private:
  friend class Store;
  explicit Queue(std::unique_ptr<Impl> rep);
  std::unique_ptr<Impl> impl_;
};

// A worker of a queue with shards. It serves some of them, each always the same while nobody joins or
// leaves. Destroying it leaves: its shards go to the others; keys that it holds stay held until Done.
// Threading: thread-safe, but meant for one thread. Lifetime: within the queue's.
class Worker {
 public:
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // As Queue's, from the shards of this worker. Done is Queue::Done.
  Status Get(std::string* key);
  Status GetFor(std::chrono::microseconds timeout, std::string* key);

  std::vector<uint32_t> Shards() const;  // Ascending.

 private:
  friend class Queue;
  Worker(Queue::Impl* queue, uint64_t id) : queue_(queue), id_(id) {}
  Queue::Impl* const queue_;
  const uint64_t id_;
};

}  // namespace wq
