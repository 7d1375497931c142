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
};

// What AddBatch did.
struct BatchResult {
  size_t added = 0;
  size_t deduplicated = 0;
  std::vector<std::pair<size_t, Status>> refused;  // Index of the key, and why.
};

// A reading of a queue's counters, all of one instant.
struct QueueCounts {
  size_t queued = 0;      // Ready to be handed out; what Len() says.
  size_t processing = 0;  // Held by workers.
  size_t delayed = 0;
  size_t failing = 0;            // Keys with a failure count.
  std::map<Lane, size_t> lanes;  // Queued, by lane; lanes without a key are left out.
};

class Queue {
 public:
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // Marks `key` as needing work. A deduplicated Add is acknowledged only when the record that
  // stands for the key is as durable as this call asks for. InvalidArgument: an empty or oversized
  // key, a lane that the order does not have.
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
  // one atomic step, on disk too.
  Status AddRateLimited(std::string_view key, std::string_view error = {},
                        const AddOptions& options = {});

  // Clears the failures of `key`. A worker still has to call Done. Ok also if there are none.
  Status Forget(std::string_view key);

  // How often `key` failed since its last Forget; survives restarts.
  uint64_t NumRequeues(std::string_view key) const;

  // Hands out the next key: the oldest of the highest lane. The caller holds it until Done.
  // Blocks: until there is one. ShuttingDown: the queue is shutting down and empty, or stopped.
  Status Get(std::string* key);
  // The same, with TimedOut after `timeout` of real time; 0 never blocks.
  Status GetFor(std::chrono::microseconds timeout, std::string* key);

  // The worker has finished with `key`. If it was added meanwhile it is queued again. Writes
  // nothing by itself: the removal reaches the disk with the next write, or within
  // StoreOptions::flush_interval. Works after ShutDown. NotProcessing: nobody holds the key.
  Status Done(std::string_view key);

  // Whether `key`, held by a worker, was added again since Get: the work is stale.
  bool AddedAgain(std::string_view key) const;

  size_t Len() const;  // Queued keys only.
  QueueCounts Counts() const;

  // Refuses Adds from now on; Get hands out what is queued, then reports ShuttingDown. Delays do
  // not fire any more. What is not worked off stays in the store.
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

  struct Rep;

 private:
  friend class Store;
  explicit Queue(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace wq
