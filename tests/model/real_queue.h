// RealQueue: the queue under test, which takes the calls of a NaiveQueue. MapQueue: the same with a
// store of its own on a disk of maps, which outlives its crashes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/store/store_impl.h"
#include "tests/model/call.h"
#include "tests/model/image.h"
#include "tests/support/memory_storage.h"
#include "wq/clock.h"
#include "wq/limiter.h"
#include "wq/queue.h"
#include "wq/source.h"
#include "wq/store.h"

namespace wq::model {

inline constexpr int64_t kStartWallUs = 1'700'000'000'000'000;

class RealQueue {
 public:
  // The clock is borrowed.
  RealQueue(const QueueOptions& options, ManualClock* clock)
      : first_options_(options), options_(options), clock_(clock) {}

  // Every call but kCrash. REQUIRES: Open was called.
  std::string Do(const Call& call);

  // Opens the queue on which Do makes its calls.
  Status Open(Store* store, const std::string& name, Durability durability);
  Queue* queue() { return queue_; }
  // Ends the use of the queue. To be called before the store is destroyed.
  void Drop() {
    workers_.clear();
    list_.reset();
  }

 private:
  // A limiter whose delay is that of the Call, and whose state is the number of its calls.
  class CallsDelay final : public Limiter {
   public:
    std::chrono::microseconds When(std::string_view, uint64_t, Time) override {
      ++calls;
      return delay;
    }
    std::string SaveState(Time) const override { return std::to_string(calls); }
    void RestoreState(std::string_view state, Time) override {
      calls = std::stoull(std::string(state));
    }
    std::chrono::microseconds delay{0};
    uint64_t calls = 0;
  };

  Status Get(uint32_t shard, std::string* key);
  std::string TryGet(uint32_t shard, uint64_t limit);
  std::string AddBatch(const Call& call, const AddOptions& options);
  std::string ChangeMany(const Call& call);
  std::string Reopen(const Call& call);
  std::string Observe(const Call& call, const AddOptions& options);

  const QueueOptions first_options_;
  QueueOptions options_;
  ManualClock* const clock_;
  std::shared_ptr<CallsDelay> limiter_;
  Store* store_ = nullptr;
  Queue* queue_ = nullptr;
  Source source_;
  std::unique_ptr<SourceList> list_;
  std::vector<std::unique_ptr<Worker>> workers_;  // By shard: each worker serves one.
};

class MapQueue {
 public:
  using DiskState = storage::MemoryDisk::State;

  explicit MapQueue(const QueueOptions& options, const support::Buffers& buffers = {})
      : buffers_(buffers), queue_(options, &clock_) {
    Open();
  }

  std::string Do(const Call& call);
  std::string Dump();

  // Loses what is in memory, without another write.
  void Crash();
  void OnDisk(const std::function<void(DiskState&)>& change) const {
    const MutexLock lock(disk_->mu);
    change(disk_->state);
  }
  Image Records() const;
  Store* store() { return store_.get(); }
  Queue* queue() { return queue_.queue(); }

 private:
  void Open();
  const support::Buffers buffers_;
  ManualClock clock_{{.steady_us = 0, .wall_us = kStartWallUs}};
  std::shared_ptr<storage::MemoryDisk> disk_ = std::make_shared<storage::MemoryDisk>();
  std::unique_ptr<Store> store_;
  RealQueue queue_;
};

}  // namespace wq::model
