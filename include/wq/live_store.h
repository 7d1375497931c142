// LiveStore: access to a store that a running process owns, through the socket that it serves.
//
//   std::unique_ptr<wq::LiveStore> store;
//   wq::Status s = wq::LiveStore::Connect("/var/lib/pod-controller", &store);
//   std::unique_ptr<wq::QueueAccess> pods;
//   if (s.ok()) pods = store->Access("pods", false);
//   wq::BatchResult result;
//   if (s.ok()) s = pods->Add(keys, {.durability = wq::Durability::kPower}, &result);
//
// The owner serves it with ServerOptions::control_socket (server.h); only the owner's user and root
// may use it. Each call is a separate connection, so nothing is held between calls.
// Threading: thread-compatible. Lifetime: an access may outlive the store. A crash of the owner: a
// running call returns IOError, and its effect is unknown; a change may be repeated without harm.
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
  bool open = false;  // By the owner. If not, the other fields are unset.
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
    // Bounds one call, of at most some thousand keys. Default: 30 s.
    std::chrono::milliseconds timeout{30'000};
  };

  // Connects to the owner of the store in `dir`. NotFound: the store does not exist, it has no
  // owner, or its owner does not serve a socket. Blocks: for an answer.
  static Status Connect(const std::string& dir, const Options& options,
                        std::unique_ptr<LiveStore>* store);
  static Status Connect(const std::string& dir, std::unique_ptr<LiveStore>* store) {
    return Connect(dir, Options(), store);
  }
  ~LiveStore();
  LiveStore(const LiveStore&) = delete;
  LiveStore& operator=(const LiveStore&) = delete;

  // Reads the state of the store and its queues. Blocks: for an answer.
  Status Read(LiveInfo* info) const;

  // Returns access to a queue. Its calls return NotFound if the queue does not exist, and Locked if
  // the owner has not opened it and does not open queues on request. `create`: Add creates the
  // queue, if the owner permits that (ServerOptions::open_queue).
  std::unique_ptr<QueueAccess> Access(std::string_view queue, bool create) const;

 private:
  class Connection;
  class RemoteAccess;
  explicit LiveStore(std::shared_ptr<const Connection> connection);
  const std::shared_ptr<const Connection> connection_;
};

}  // namespace wq
