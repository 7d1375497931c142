// Stores that are replicas of one log in memory.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/environment.h"
#include "tests/support/memory_log.h"
#include "tests/support/wait.h"
#include "wq/queue.h"
#include "wq/replicated_log.h"
#include "wq/store.h"

namespace wq {

using support::Eventually;

class ReplicatedStoreFixture : public testing::Test {
 protected:
  StoreOptions Options(const std::string& name) {
    Replication replication;
    replication.log = log_;
    replication.name = name;
    replication.lease = lease_;
    replication.lease_margin = std::chrono::milliseconds(100);
    replication.write_timeout = write_timeout_;
    return {.create_if_missing = true, .replication = replication};
  }
  std::string Dir(const std::string& name) const { return dir_.path() + "/" + name; }
  std::unique_ptr<Store> Open(const std::string& name) { return OpenWith(name, Options(name)); }
  std::unique_ptr<Store> OpenWith(const std::string& name, const StoreOptions& options) {
    std::unique_ptr<Store> store;
    const Status s = Store::Open(options, Dir(name), &store);
    EXPECT_TRUE(s.ok()) << s.ToString();
    return store;
  }
  // The owner, with its queue open.
  std::unique_ptr<Store> OpenOwner(const std::string& name, Queue** queue,
                                   const QueueOptions& options = {}) {
    std::unique_ptr<Store> store = Open(name);
    Lead(store.get(), queue, options);
    return store;
  }
  static void Lead(Store* store, Queue** queue, const QueueOptions& options = {}) {
    Status s = store->WaitForLeadership(support::kPatience);
    ASSERT_TRUE(s.ok()) << s.ToString();
    s = store->OpenQueue("pods", options, queue);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  // Waits until the store has all of the log.
  void AwaitCaughtUp(Store* store) {
    LogState state;
    ASSERT_TRUE(log_->State(&state).ok());
    EXPECT_TRUE(Eventually([&] { return store->Replica().applied >= state.last; }))
        << store->Replica().applied << " of " << state.last << ": "
        << store->Replica().log.ToString();
  }
  static std::vector<std::string> Drain(Queue* queue) {
    std::vector<std::string> keys;
    std::string key;
    while (queue->GetFor(std::chrono::microseconds(0), &key).ok()) {
      keys.push_back(key);
    }
    return keys;
  }

  // No load ends a lease or the patience of a write. A test of their ends shortens them. A wait is
  // longer than a lease: an owner that did not hand over delays the next one by it.
  std::chrono::milliseconds lease_ = support::kPatience / 4;
  std::chrono::milliseconds write_timeout_ = support::kPatience;
  support::ScratchDirectory dir_;
  std::shared_ptr<ReplicatedLog> log_ = std::make_shared<support::MemoryLog>();
};

}  // namespace wq
