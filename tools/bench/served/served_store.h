// ServedStore: a store in a process of its own, which serves it on its control socket.
//
//   const ServedStore served(bench.settings(), dir, Durability::kProcess);
//   std::unique_ptr<LiveStore> client = served.Connect();
//
// A failure ends the process. Thread-compatible.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "tools/bench/bench.h"
#include "tools/bench/keys.h"
#include "tools/bench/process.h"
#include "wq/live_store.h"
#include "wq/queue_access.h"

namespace wq::bench {

class ServedStore {
 public:
  // Makes the store in `dir`, with the queue kQueueName. The destructor kills its process. Blocks
  // until it is served.
  ServedStore(const Settings& settings, const std::string& dir, Durability durability);

  const std::string& dir() const { return dir_; }
  // A client with a connection of its own.
  std::unique_ptr<LiveStore> Connect() const;

  // Of the process that serves it: its own memory, and with the pages of files that it has mapped,
  // which are libraries and the process log.
  size_t PrivateBytes() const;
  size_t ResidentBytes() const;
  // How often its threads have waited since its start; `timers`: those with which gRPC checks its
  // timers, and otherwise all others.
  size_t VoluntarySwitches(bool timers) const;

 private:
  std::string ProcFolder() const;

  const std::string dir_;
  Child child_;
};

// Adds all keys by unary calls of `batch_size` keys each. Each key must be new.
void AddUnary(const LiveStore& client, const Keys& keys, Durability durability, size_t batch_size);

// Is the only worker of the queue, and answers `count` keys with done as they are assigned.
// `capacity`: how many keys it holds at a time.
void WorkAll(const LiveStore& client, size_t count, uint32_t capacity);

}  // namespace wq::bench
