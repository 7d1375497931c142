// QueueTest: a queue on a disk of maps, with a clock that is moved by hand.
#pragma once

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "engine/store/store_impl.h"
#include "tests/support/memory_storage.h"
#include "tests/support/wait.h"
#include "wq/clock.h"
#include "wq/limiter.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace wq {

// A queue in a store in memory, on the machine's clocks.
struct QueueInMemory {
  explicit QueueInMemory(const QueueOptions& options = {}) {
    EXPECT_TRUE(Store::OpenInMemory({}, &store).ok());
    EXPECT_TRUE(store->OpenQueue("q", options, &queue).ok());
  }
  Queue* operator->() const { return queue; }

  std::unique_ptr<Store> store;
  Queue* queue = nullptr;
};

class QueueTest : public ::testing::Test {
 protected:
  QueueTest() { Open(); }

  // Unless `options` say so, a failed store makes no attempt to recover by itself.
  void Open(StoreOptions options = {.recovery_backoff_min = std::chrono::hours(1)}) {
    store_.reset();
    options.clock = &clock_;
    options.flush_interval = std::chrono::hours(1);  // Only what a call waits for is written.
    ASSERT_TRUE(
        Store::Impl::Open(options, "", std::make_unique<storage::MemoryStorage>(disk_), &store_)
            .ok());
    ASSERT_TRUE(store_->OpenQueue("q", queue_options_, &queue_).ok());
  }
  void CloseAndOpen() {
    ASSERT_TRUE(store_->Close().ok());
    Open();
  }
  void CloseAndOpen(const QueueOptions& options) {
    queue_options_ = options;
    CloseAndOpen();
  }

  void Add(std::string_view key) {
    const Status s = queue_->Add(key);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  // The next key, or the name of the status.
  std::string Get() {
    std::string key;
    const Status s = queue_->GetFor(std::chrono::microseconds(0), &key);
    return s.ok() ? key : std::string(StatusCodeName(s.code()));
  }
  // Each key with its states, sorted.
  std::string State() {
    std::map<std::string, std::string> keys;
    EXPECT_TRUE(queue_
                    ->Scan([&keys](const KeyInfo& info) {
                      std::string& text = keys[std::string(info.key)];
                      text += info.queued ? "q" : "";
                      text += info.processing ? "p" : "";
                      text += info.added_again ? "+" : "";
                      text += info.delayed ? "d" : "";
                      text += info.failing ? "f" : "";
                      text += info.quarantined ? "x" : "";
                      return true;
                    })
                    .ok());
    std::string text;
    for (const auto& [key, states] : keys) {
      text.append(text.empty() ? "" : " ").append(key).append(":").append(states);
    }
    return text;
  }
  std::future<std::string> GetInBackground() {
    return std::async(std::launch::async, [queue = queue_] {
      std::string key;
      const Status s = queue->Get(&key);
      return s.ok() ? key : std::string(StatusCodeName(s.code()));
    });
  }
  // Returns when the drain has begun.
  std::future<StatusCode> DrainInBackground() {
    auto drain = std::async(std::launch::async, [queue = queue_] {
      return queue->ShutDownWithDrain(std::chrono::hours(1)).code();
    });
    EXPECT_TRUE(support::Eventually([this] { return queue_->IsShuttingDown(); }));
    return drain;
  }
  size_t RecordsOnDisk(storage::Family family) {
    const MutexLock lock(disk_->mu);
    return disk_->state.families[static_cast<size_t>(family)].size();
  }
  uint64_t Syncs() {
    const MutexLock lock(disk_->mu);
    return disk_->state.syncs;
  }
  void OnDisk(const std::function<void(storage::MemoryDisk::State&)>& change) {
    const MutexLock lock(disk_->mu);
    change(disk_->state);
  }
  // After so many writes all fail, until DiskIsBack.
  void FailWrites(uint64_t after = 0) {
    OnDisk([after](auto& disk) { disk.fail_after = after; });
  }
  void DiskIsBack() {
    OnDisk([](auto& disk) {
      disk.fail_after = UINT64_MAX;
      disk.fail_reopen = disk.apply_failed = false;
    });
  }
  // Ends the store without another write, as a kill would, and opens it from the disk.
  void Crash() {
    FailWrites();
    store_.reset();
    DiskIsBack();
    Open();
  }

  ManualClock clock_;
  QueueOptions queue_options_{.order = Order::kTwoLanes};
  std::shared_ptr<storage::MemoryDisk> disk_ = std::make_shared<storage::MemoryDisk>();
  std::unique_ptr<Store> store_;
  Queue* queue_ = nullptr;
};

}  // namespace wq
