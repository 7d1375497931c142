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
  return said;
}

void NaiveStore::Recover() {
  for (size_t i = 0; i < queues_.size(); ++i) {
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
