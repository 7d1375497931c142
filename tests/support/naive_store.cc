#include "tests/support/naive_store.h"

#include <algorithm>

namespace wq::support {

NaiveStore::NaiveStore(const std::vector<QueueRules>& rules, int64_t wall_us)
    : numbers_(rules.size()) {
  for (const QueueRules& queue : rules) {
    queues_.emplace_back(queue.options, wall_us);
  }
}

std::string NaiveStore::Do(const StoreCall& call) {
  if (call.call.op != Op::kAddBatch) {
    return DoOne(call);
  }
  std::vector<std::string> results;
  uint64_t stands_on = 0;
  for (const StoreCall& add : AddsOf(call)) {
    results.push_back(DoOne(add));
    stands_on = std::max(stands_on, stands_on_);
  }
  stands_on_ = stands_on;
  return model::ResultOfBatch(results);
}

std::string NaiveStore::DoOne(const StoreCall& call) {
  ++calls_;
  stands_on_ = 0;
  std::string said;
  for (size_t i = 0; i < queues_.size(); ++i) {
    if (call.OnStore() || i == call.queue) {
      numbers_[i].push_back(calls_);
      said = queues_[i].Do(call.call);
      if (queues_[i].stands_on() > 0) {
        stands_on_ = std::max(stands_on_, numbers_[i][queues_[i].stands_on() - 1]);
      }
    }
  }
  if (call.call.op == Op::kReopen) {
    stands_on_ = calls_ - 1;  // The closing writes what all queues have done.
  }
  return said;
}

void NaiveStore::Recover() {
  for (size_t i = 0; i < queues_.size(); ++i) {
    queues_[i].UseFirstOptions();
    queues_[i].Recover();
    numbers_[i].clear();
  }
  calls_ = 0;
}

void NaiveStore::Fire() {
  for (model::NaiveQueue& queue : queues_) {
    queue.Fire();
  }
}

void NaiveStore::Restore(size_t i, const NaiveStore& earlier) {
  const model::NaiveQueue now = queues_[i];
  queues_[i] = earlier.queues_[i];
  queues_[i].SetClocks(now);
  numbers_[i] = earlier.numbers_[i];
}

}  // namespace wq::support
