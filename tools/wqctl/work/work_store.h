// WorkStore: the store of a run. This process owns it and serves it to others; or another process
// owns it and serves it, and this one is a worker of its queues.
//
//   WorkStore store(options);
//   wq::Status s = store.Open(&queues, &again);   // And once more when the queues have ended.
//   …
//   s = store.Close();
//
// Thread-compatible.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/wqctl/replication/log_args.h"
#include "tools/wqctl/signals/stop_signals.h"
#include "tools/wqctl/work/work_queue.h"
#include "wq/controller.h"
#include "wq/live_store.h"
#include "wq/options.h"
#include "wq/prometheus.h"
#include "wq/server.h"
#include "wq/status.h"
#include "wq/store.h"

namespace wqctl {

struct WorkStoreOptions {
  std::string dir;
  std::vector<std::string> queues;  // Not empty; each once.
  bool follow = false;              // Create missing queues, and wait for the end of pauses.
  std::optional<uint64_t> max_requeues;
  std::optional<std::chrono::microseconds> base_delay;  // 5 ms.
  std::optional<std::chrono::microseconds> max_delay;   // 1000 s.
  int workers = 1;                                      // That run commands, for the metrics.
  std::string http_address;                             // Empty: none.
  bool http_any_address = false;
  wq::Durability durability = wq::Durability::kProcess;
  wq::StoreOptions store = ToolStoreOptions();  // If this process owns it.
  std::function<void()> on_ready;               // A queue may have a key. Thread-safe.
  std::function<bool()> stopped;  // Whether to wait no longer for the ownership. Thread-safe.
};

class WorkStore {
 public:
  explicit WorkStore(WorkStoreOptions options);
  ~WorkStore();
  WorkStore(const WorkStore&) = delete;
  WorkStore& operator=(const WorkStore&) = delete;

  // Opens the queues; not those that are paused, unless `follow` is set, which a message says.
  // Locked: another process owns the store, and serves no socket now; then *again is true, as after
  // every error that may have passed when the call is repeated. NotDurable: this process was a
  // worker, and its owner has left a store that cannot be written now. Of a replicated store: waits
  // until this process owns it; ShuttingDown: `stopped` has returned true meanwhile; NotOwner: the
  // ownership has ended again.
  wq::Status Open(WorkQueues* queues, bool* again);
  // Ends the service after the end of the ownership of a replicated store. Open begins the next.
  void EndService();
  // Ends the service, gives up the ownership of a replicated store, and closes the store, if this
  // process owns it. Other processes have `grace` to
  // finish what they work on, or until a signal. Blocks: for that.
  wq::Status Close(std::chrono::microseconds grace, const StopSignals& signals,
                   StopGuard::During during);

 private:
  wq::Status OpenStore();
  // Of store_. After an error a store that is not replicated is closed.
  wq::Status OpenAsOwner(WorkQueues* queues);
  wq::Status OpenQueues(WorkQueues* queues);
  wq::Status OpenQueue(const std::string& name, wq::Queue** queue);
  std::shared_ptr<wq::ControllerObserver> ObserverOf(const std::string& queue) const;
  wq::Status Serve();
  // `owned`: "STORE is owned by process 4711".
  wq::Status Attach(const std::string& owned, WorkQueues* queues, bool* again);
  wq::Status TakeToken(uint64_t* token);
  wq::Status Health() const;
  bool MayBegin(const std::string& name, const wq::QueueCounts& counts) const;

  const WorkStoreOptions options_;
  bool attached_before_ = false;
  std::shared_ptr<wq::PrometheusProvider> metrics_;  // Null without http_address.
  std::unique_ptr<wq::Store> store_;
  std::unique_ptr<wq::Server> control_;
  std::unique_ptr<wq::Server> http_;
  std::shared_ptr<const wq::LiveStore> live_;
};

}  // namespace wqctl
