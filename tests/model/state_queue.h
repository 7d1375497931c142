// StateQueue: a bare QueueState as a Subject, on a disk of maps. It has no threads, so a test can
// make hundreds of thousands of them.
#pragma once

#include <memory>
#include <string>

#include "engine/state/queue_state.h"
#include "tests/model/call.h"
#include "tests/support/memory_storage.h"

namespace wq::model {

class StateQueue final : public Subject {
 public:
  StateQueue(const QueueOptions& options, int64_t wall_us);

  // Supports the calls of client-go's queues (Add, AddAfter, AddRateLimited, Forget, Get, Done),
  // PutBack, time and crashes.
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
