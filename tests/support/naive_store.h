// NaiveStore: a store of NaiveQueues with one order of calls over all of them, which is the order in
// which they must reach the disk.
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

// What a store holds of each queue.
using StoreImage = std::vector<Image>;

class NaiveStore {
 public:
  NaiveStore(const std::vector<QueueRules>& rules, int64_t wall_us);

  // What the caller would see.
  std::string Do(const StoreCall& call);
  // All that is in memory is lost and read back; the calls count from 1 again.
  void Crash() {
    Recover();
    Fire();
  }
  // Its two steps.
  void Recover();
  void Fire();

  size_t queues() const { return queues_.size(); }
  const model::NaiveQueue& queue(size_t i) const { return queues_[i]; }
  // Takes over a queue as it was in `earlier`, at this store's time.
  void TakeBack(size_t i, const NaiveStore& earlier);
  int64_t wall_us() const { return queues_.front().wall_us(); }

  // The latest call, counted over all queues, that must be on disk for the last one to be
  // acknowledged; 0: none.
  uint64_t stands_on() const { return stands_on_; }

 private:
  std::vector<model::NaiveQueue> queues_;
  std::vector<std::vector<uint64_t>> numbers_;  // By queue: the store's numbers of its calls.
  uint64_t calls_ = 0;
  uint64_t stands_on_ = 0;
};

}  // namespace wq::support
