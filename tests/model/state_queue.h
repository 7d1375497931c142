// StateQueue: the bare state machine as a Subject, on a disk of maps; without the threads of a queue, so
// that hundreds of thousands of them can be made.
#pragma once

#include <memory>
#include <string>

#include "engine/state/queue_state.h"
#include "storage/memory_storage.h"
#include "tests/model/call.h"

namespace wq::model {

class StateQueue final : public Subject {
 public:
  StateQueue(const QueueOptions& options, int64_t wall_us);

  // The calls of the field's queues: Add, AddAfter, AddRateLimited, Forget, Get, Done; time; crashes.
  std::string Do(const Call& call) override;
  std::string Dump() override;

 private:
  void Commit();
  void Fire();

  const QueueOptions options_;
  Time now_;
  storage::MemoryStorage disk_{std::make_shared<storage::MemoryDisk>()};
  storage::MutationBatch batch_;
  std::unique_ptr<QueueState> state_;
  Position position_ = 0;
  uint64_t limiter_calls_ = 0;
};

}  // namespace wq::model
