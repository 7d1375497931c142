// StoreAccess: finds the queues that requests name, opens them if the owner permits that, and
// deletes those that it has opened.
//
// Threading: thread-safe. Lifetime: borrows the store.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "wq/options.h"
#include "wq/status.h"

namespace wq {

class Queue;
class Store;

// See ServerOptions::open_queue.
using QueueOpener = std::function<Status(std::string_view name, bool create, Queue** queue)>;

// NotFound unless `queue` is one of `names`, which are sorted.
Status CheckQueueExists(const std::vector<std::string>& names, std::string_view queue);

class StoreAccess {
 public:
  // `delete_any`: see ServerOptions::delete_any_queue.
  StoreAccess(Store* store, QueueOpener open_queue, bool delete_any);

  Store& store() const { return *store_; }
  // Whether a change at this durability may wait for a write: at kProcess it does in a store
  // without a process log.
  bool MayWait(Durability durability) const;
  // Ok, or why nothing can be done at kReplicated: InvalidArgument, the store is not replicated.
  const Status& replicated() const { return replicated_; }
  // Whether the queue is open, so that Find does not have to read the store.
  Queue* FindOpen(std::string_view name) const;
  // NotFound: the queue does not exist. Locked: it is not open, and the owner opens none on
  // request. NotOwner: the store is a replica. Blocks: for the records of a queue that it opens.
  Status Find(std::string_view name, bool create, Queue** queue) WQ_EXCLUDES(mu_);
  // Closes and deletes the queue. `before_close` is called with the queue if it is open. Locked: it
  // is open, and this object has not opened it and may not delete any queue. Blocks: as
  // Store::DeleteQueue.
  Status Delete(std::string_view name, const std::function<void(Queue*)>& before_close)
      WQ_EXCLUDES(mu_);

 private:
  Store* const store_;
  const QueueOpener open_queue_;
  const bool delete_any_;
  const bool has_process_log_;
  Status replicated_;  // Constant after construction.
  Mutex mu_;           // Held while a queue is opened or deleted: one at a time.
  std::set<std::string, std::less<>> opened_ WQ_GUARDED_BY(mu_);
};

}  // namespace wq
