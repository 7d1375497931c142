// RealStore: a store under test, with all its queues open, that takes StoreCalls.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/storage.h"
#include "tests/model/real_queue.h"
#include "tests/support/naive_store.h"
#include "tests/support/store_calls.h"
#include "wq/store.h"

namespace wq::support {

class RealStore {
 public:
  RealStore(const std::vector<QueueRules>& rules, int64_t wall_us);
  ~RealStore() { Drop(); }

  // Small buffers, so that flushes and compactions happen. `calls_level` is that of the queues.
  Status Open(const std::string& dir, Durability calls_level);
  // What the caller sees; an error is its code's name. REQUIRES: Open returned Ok.
  std::string Do(const StoreCall& call);

  Store* store() { return store_.get(); }
  ManualClock* clock() { return &clock_; }
  Queue* queue(size_t i) { return queues_[i]->queue(); }
  // Lets go of the store, closing it.
  void Drop();

 private:
  const std::vector<QueueRules> rules_;
  ManualClock clock_;
  std::unique_ptr<Store> store_;
  std::vector<std::unique_ptr<model::RealQueue>> queues_;
};

// What is on disk in `dir`, read without changing it. A store, or a queue of it, that is not there yet
// holds nothing. Also checks that the records are consistent with each other: Corruption if not.
Status ReadStore(const std::string& dir, const std::vector<QueueRules>& rules, StoreImage* image);

}  // namespace wq::support
