// RealQueue: the queue itself as a Subject. MapQueue: on a disk of maps, which outlives its
// crashes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/store_rep.h"
#include "storage/memory_storage.h"
#include "tests/model/call.h"
#include "wq/clock.h"
#include "wq/limiter.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace wq::model {

inline constexpr int64_t kStartWallUs = 1'700'000'000'000'000;

class RealQueue : public Subject {
 public:
  // Steady time starts at 0.
  RealQueue(const QueueOptions& options, int64_t wall_us)
      : options_(options), clock_({.steady_us = 0, .wall_us = wall_us}) {}

  // Every call but kCrash. REQUIRES: Use was called.
  std::string Do(const Call& call) override;
  std::string Dump() override { return ""; }

  ManualClock* clock() { return &clock_; }
  // Opens the store's first queue and works on it from now on.
  Status Use(std::unique_ptr<Store> store, Durability durability);
  Queue* queue() { return queue_; }
  void Drop() {
    workers_.clear();
    store_.reset();
  }

 private:
  // The limiter asks the call for its delay.
  class CallsDelay final : public Limiter {
   public:
    std::chrono::microseconds When(std::string_view, uint64_t, Time) override { return delay; }
    std::chrono::microseconds delay{0};
  };

  Status Get(uint32_t shard, std::string* key);

  QueueOptions options_;
  ManualClock clock_;
  std::shared_ptr<CallsDelay> limiter_ = std::make_shared<CallsDelay>();
  std::unique_ptr<Store> store_;
  Queue* queue_ = nullptr;
  std::vector<std::unique_ptr<Worker>> workers_;  // By shard: each serves that one.
};

class MapQueue final : public RealQueue {
 public:
  explicit MapQueue(const QueueOptions& options) : RealQueue(options, kStartWallUs) { Open(); }

  std::string Do(const Call& call) override;
  std::string Dump() override;

 private:
  void Open();
  std::shared_ptr<storage::MemoryDisk> disk_ = std::make_shared<storage::MemoryDisk>();
};

}  // namespace wq::model
