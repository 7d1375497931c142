// WorkQueue: what a run needs of a queue, of a store that this process owns or of a store that
// another process serves.
//
//   queue->Want(true);                          // A command may begin.
//   if (queue->TryGet(&key).ok()) …             // on_ready is called when that may succeed.
//   … run the command …
//   wq::Status s = queue->Succeed(key);
//
// A key that is neither recorded as succeeded nor as failed is queued again when the process that
// owns the store ends, or when this object ends. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wq/controller.h"
#include "wq/live_store.h"
#include "wq/queue.h"
#include "wq/status.h"

namespace wqctl {

struct TakenKey {
  std::string key;
  uint64_t token = 0;
  uint64_t failures = 0;  // Before this attempt.
  wq::Causes causes;      // Of the Adds since the hand-out before.
};

// What became of a failed key.
struct FailedKey {
  uint64_t failures = 0;
  bool quarantined = false;
};

class WorkQueue {
 public:
  virtual ~WorkQueue() = default;
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  const std::string& name() const { return name_; }

  // Whether this process has room for one more key. Without room it holds no key that it does not
  // process.
  virtual void Want(bool wanted) = 0;
  // The run ends: outcomes that the owner does not acknowledge soon are given up.
  virtual void EndSoon() {}
  // Takes a key. TimedOut: there is none now. ShuttingDown: the process that serves the queue has
  // ended, or has ended the stream; the queue has to be opened anew. NotOwner: this process does
  // not own the replicated store any more. NotDurable: see Health. Never blocks.
  virtual wq::Status TryGet(TakenKey* key) = 0;
  virtual wq::Status Counts(wq::QueueCounts* counts) const = 0;
  // NotDurable: a write to the store has failed, with the reason; what is recorded is only in the
  // memory of its owner, until the store has recovered. See Store::Health. Another error: the owner
  // does not answer.
  virtual wq::Status Health() const = 0;

  // Record the outcome of an attempt. NotProcessing: the process that served the queue has ended,
  // or has assigned the key to another worker; nothing is recorded. NotOwner: as TryGet.
  // NotDurable: it is recorded, see Health.
  virtual wq::Status Succeed(const TakenKey& key) = 0;
  virtual wq::Status Fail(const TakenKey& key, const std::string& error, FailedKey* failed) = 0;

  // Receives the begin and the end of each attempt. Null: nobody does.
  wq::ControllerObserver* observer() const { return observer_.get(); }

 protected:
  explicit WorkQueue(std::string name, std::shared_ptr<wq::ControllerObserver> observer = nullptr)
      : name_(std::move(name)), observer_(std::move(observer)) {}

 private:
  const std::string name_;
  const std::shared_ptr<wq::ControllerObserver> observer_;
};

using WorkQueues = std::vector<std::shared_ptr<WorkQueue>>;

// A key on its way through a command.
struct Job : TakenKey {
  std::shared_ptr<WorkQueue> queue;
};

// Takes the token of the next assignment.
using TokenTaker = std::function<wq::Status(uint64_t* token)>;

struct LocalQueueOptions {
  // With 0 the first failure quarantines a key; the queue itself enforces every other limit.
  std::optional<uint64_t> max_requeues;
  TokenTaker take_token;
  std::function<wq::Status()> health;                // As Store::Health.
  std::shared_ptr<wq::ControllerObserver> observer;  // May be null.
  std::function<void()> on_ready;                    // As Queue::ListenReady calls it.
};

// A queue of a store that this process owns. `queue` is borrowed.
std::shared_ptr<WorkQueue> MakeLocalQueue(wq::Queue* queue, LocalQueueOptions options);

struct RemoteQueueOptions {
  std::string name;
  bool create = false;
  std::optional<uint64_t> max_requeues;  // A key that fails after so many is quarantined.
  std::function<void()> on_ready;        // TryGet may return something else than TimedOut.
};

// Becomes a worker of a queue of `store`. Errors: as LiveStore::Work.
wq::Status OpenRemoteQueue(std::shared_ptr<const wq::LiveStore> store,
                           const RemoteQueueOptions& options, std::shared_ptr<WorkQueue>* queue);

}  // namespace wqctl
