// RealQueue: the queue itself as a Subject, on a disk of maps that outlives its crashes.
#pragma once

#include <memory>

#include "engine/store_rep.h"
#include "storage/memory_storage.h"
#include "tests/model/call.h"
#include "wq/clock.h"
#include "wq/limiter.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace wq::model {

inline constexpr int64_t kStartWallUs = 1'700'000'000'000'000;

class RealQueue final : public Subject {
 public:
  RealQueue();

  std::string Do(const Call& call) override;
  std::string Dump() override;

 private:
  // The limiter asks the call for its delay.
  class CallsDelay final : public Limiter {
   public:
    std::chrono::microseconds When(std::string_view, uint64_t) override { return delay; }
    std::chrono::microseconds delay{0};
  };

  void Open();

  ManualClock clock_{{.steady_us = 0, .wall_us = kStartWallUs}};
  std::shared_ptr<CallsDelay> limiter_ = std::make_shared<CallsDelay>();
  std::shared_ptr<storage::MemoryDisk> disk_ = std::make_shared<storage::MemoryDisk>();
  std::unique_ptr<Store> store_;
  Queue* queue_ = nullptr;
};

}  // namespace wq::model
