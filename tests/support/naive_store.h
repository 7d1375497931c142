// NaiveStore: a store of NaiveQueues with one order of calls over all of them, which is the order
// in which they must reach the disk.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/model/image.h"
#include "tests/model/naive_queue.h"
#include "tests/support/store_calls.h"

namespace wq::support {

using model::Image;

// The contents of a store, by queue.
using StoreImage = std::vector<Image>;

class NaiveStore {
 public:
  NaiveStore(const std::vector<QueueRules>& rules, int64_t wall_us);

  // Makes the call and returns what the caller would see.
  std::string Do(const StoreCall& call);
  // The first step of a kReopen or kDeleteQueue.
  void BeginReopening(const StoreCall& call) { queues_[call.queue].BeginReopening(call.call); }
  // Discards the memory and reads it back from disk. Calls are counted from 1 again.
  void Crash() {
    Recover();
    Fire();
  }
  // The two steps of Crash.
  void Recover();
  void Fire();

  size_t queues() const { return queues_.size(); }
  const model::NaiveQueue& queue(size_t i) const { return queues_[i]; }
  // Replaces a queue by that of `earlier`, at this store's time.
  void Restore(size_t i, const NaiveStore& earlier);
  int64_t wall_us() const { return queues_.front().wall_us(); }

  // The latest call, counted over all queues, that must be on disk for the last call to be
  // acknowledged; 0: none. Each Add of a kAddBatch counts as a call.
  uint64_t stands_on() const { return stands_on_; }

 private:
  std::string DoOne(const StoreCall& call);

  std::vector<model::NaiveQueue> queues_;
  std::vector<std::vector<uint64_t>> numbers_;  // By queue: the store's numbers of its calls.
  uint64_t calls_ = 0;
  uint64_t stands_on_ = 0;
};

}  // namespace wq::support
