// LiveStore: a store that a running process owns, through the socket that it serves.
//
//   std::unique_ptr<wq::LiveStore> store;
//   wq::Status s = wq::LiveStore::Connect("/var/lib/pod-controller", &store);
//   std::unique_ptr<wq::QueueAccess> pods;
//   if (s.ok()) pods = store->Access("pods", false);
//   wq::BatchResult result;
//   if (s.ok()) s = pods->Add(keys, {.durability = wq::Durability::kPower}, &result);
//
// The owner serves it with ServerOptions::control_socket (server.h); only the owner's user and root may
// use it. Threading: thread-compatible. Lifetime: an access may outlive the store. Each call is a
// connection of its own, so nothing is held between two.
// If the owner ends during a call the call returns IOError, and whether it took effect is unknown:
// a change may be made again without harm.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wq/queue.h"
#include "wq/queue_access.h"
#include "wq/status.h"

namespace wq {

struct LiveQueue {
  std::string name;
  bool open = false;  // By the owner. If not, the rest says nothing.
  bool shutting_down = false;
  QueueCounts counts;
};

struct LiveInfo {
  int64_t pid = 0;
  std::string uuid;
  Status health;                  // Store::Health.
  std::vector<LiveQueue> queues;  // All of the store, by name.
};

class LiveStore {
 public:
  struct Options {
    // For one call, of at most some thousand keys.
    std::chrono::milliseconds timeout{30'000};
  };

  // NotFound: there is no store, or nobody serves a socket there: its owner does not, or there is
  // none. Blocks: for an answer.
  static Status Connect(const std::string& dir, const Options& options,
                        std::unique_ptr<LiveStore>* store);
  static Status Connect(const std::string& dir, std::unique_ptr<LiveStore>* store) {
    return Connect(dir, Options(), store);
  }
  ~LiveStore();
  LiveStore(const LiveStore&) = delete;
  LiveStore& operator=(const LiveStore&) = delete;

  Status Read(LiveInfo* info) const;  // Blocks.

  // Calls return NotFound if there is no such queue, and Locked if the owner has not opened it and
  // does not open it for others. `create`: Add makes the queue, if the owner lets others do so.
  std::unique_ptr<QueueAccess> Access(std::string_view queue, bool create) const;

 private:
  class Connection;
  class RemoteAccess;
  explicit LiveStore(std::shared_ptr<const Connection> connection);
  const std::shared_ptr<const Connection> connection_;
};

}  // namespace wq
