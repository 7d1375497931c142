// LiveStore: access to a store that a running process owns, through the socket that it serves.
//
//   std::unique_ptr<wq::LiveStore> store;
//   wq::Status s = wq::LiveStore::Connect("/var/lib/pod-controller", &store);
//   std::unique_ptr<wq::QueueAccess> pods;
//   if (s.ok()) pods = store->Access("pods", false);
//   wq::BatchResult result;
//   if (s.ok()) s = pods->Add(keys, {.durability = wq::Durability::kPower}, {}, &result);
//
// The owner serves it with ServerOptions::control_socket (server.h); only the owner's user and root
// may use it. When the owner was restarted between two calls, the second one connects anew.
// Threading: thread-safe. Lifetime: an access, or a worker, may outlive the store. A crash of the
// owner: a running call returns IOError, and its effect is unknown; a change may be repeated
// without harm.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wq/history.h"
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

// A worker that is connected to the owner. Times are microseconds since 1970-01-01T00:00:00Z.
struct LiveWorkerInfo {
  struct Held {
    std::string key;
    uint64_t token = 0;
    uint64_t attempt = 0;
    int64_t since_us = 0;
  };
  std::string queue;
  std::string name;
  std::string peer;  // "unix:", or an address.
  uint32_t capacity = 0;
  int64_t connected_at_us = 0;
  int64_t last_heard_at_us = 0;
  std::vector<uint32_t> shards;  // Ascending; empty if the queue has none.
  uint64_t held_count = 0;
  std::vector<Held> held;  // The oldest, at most 1000. Fewer if keys are long.
  uint64_t done = 0;       // Answers since it has connected.
  uint64_t failed = 0;
};

class Connection;
class LiveWorker;
struct LiveWorkerOptions;

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

  // Becomes a worker of a queue: see live_worker.h.
  Status Work(std::string_view queue, const LiveWorkerOptions& options,
              std::unique_ptr<LiveWorker>* worker) const;
  // Reads who works on `queue`, or on all queues if it is empty, in the order of their connection.
  // Blocks: for an answer.
  Status Workers(std::string_view queue, std::vector<LiveWorkerInfo>* workers) const;

  // Reads the last events of a key, as Store::History does. NotSupported: the owner records none.
  // Blocks: for an answer.
  Status History(std::string_view queue, std::string_view key, uint32_t limit,
                 KeyHistory* history) const;

  // Deletes a queue as Store::DeleteQueue does, after the owner has closed it and ended its
  // workers' streams. Locked: the owner's own program uses the queue. Blocks: for an answer.
  Status DeleteQueue(std::string_view queue) const;

 private:
  class RemoteAccess;
  explicit LiveStore(std::shared_ptr<const Connection> connection);
  const std::shared_ptr<const Connection> connection_;
};

}  // namespace wq
