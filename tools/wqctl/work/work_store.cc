#include "tools/wqctl/work/work_store.h"

#include <string_view>
#include <utility>

#include "tools/wqctl/cli/queues.h"
#include "tools/wqctl/replication/ownership.h"
#include "tools/wqctl/text/log.h"
#include "wq/controller_metrics.h"
#include "wq/keys.h"
#include "wq/limiter.h"
#include "wq/live_worker.h"
#include "wq/queue.h"

namespace wqctl {

WorkStore::WorkStore(WorkStoreOptions options) : options_(std::move(options)) {}

WorkStore::~WorkStore() = default;

wq::Status WorkStore::Open(WorkQueues* queues, bool* again) {
  *again = false;
  live_.reset();
  wq::Status locked = store_ == nullptr ? OpenStore() : wq::Status::Ok();
  if (locked.ok()) return OpenAsOwner(queues);
  if (locked.code() == wq::StatusCode::kIOError && attached_before_) {
    return wq::Status::NotDurable(locked.message());  // The disk that the last owner found full.
  }
  if (locked.code() != wq::StatusCode::kLocked) return locked;
  std::unique_ptr<wq::LiveStore> live;
  wq::Status s = wq::LiveStore::Connect(options_.dir, &live);
  if (s.code() == wq::StatusCode::kNotFound) {
    *again = true;  // Its owner may be about to serve it, or about to end.
    return wq::Status::Locked(locked.message() + kServesNothing);
  }
  if (!s.ok()) return s;
  live_ = std::move(live);
  return Attach(locked.message(), queues, again);
}

void WorkStore::EndService() {
  control_.reset();
  http_.reset();
}

wq::Status WorkStore::Close(std::chrono::microseconds grace, const StopSignals& signals,
                            StopGuard::During during) {
  if (control_ != nullptr) DrainServer(control_.get(), grace, signals);
  const StopGuard guard(signals, during);
  EndService();
  return store_ == nullptr ? wq::Status::Ok() : ResignAndClose(store_.get());
}

wq::Status WorkStore::OpenStore() {
  wq::StoreOptions store_options = options_.store;
  if (!options_.http_address.empty()) metrics_ = wq::MakePrometheusProvider();
  store_options.metrics = metrics_;
  store_options.create_if_missing = options_.store.replication.has_value();
  return wq::Store::Open(store_options, options_.dir, &store_);
}

wq::Status WorkStore::OpenAsOwner(WorkQueues* queues) {
  wq::Status s = OpenQueues(queues);
  if (!s.ok() && !options_.store.replication) {  // Open begins anew.
    EndService();
    store_.reset();
  }
  return s;
}

wq::Status WorkStore::OpenQueues(WorkQueues* queues) {
  if (options_.store.replication) {
    if (wq::Status s = AwaitOwnership(store_.get(), options_.stopped); !s.ok()) return s;
  }
  if (attached_before_) LogInfo("this process owns the store now");
  WorkQueues opened;
  for (const std::string& name : options_.queues) {
    wq::Queue* queue = nullptr;
    if (wq::Status s = OpenQueue(name, &queue); !s.ok()) {
      return options_.store.replication ? s : ExplainMissing(options_.dir, name, s);
    }
    if (!MayBegin(name, queue->Counts())) continue;
    opened.push_back(
        MakeLocalQueue(queue, {.max_requeues = options_.max_requeues,
                               .take_token = [this](uint64_t* token) { return TakeToken(token); },
                               .health = [this] { return Health(); },
                               .observer = ObserverOf(name),
                               .on_ready = options_.on_ready}));
  }
  wq::Status s = Serve();
  if (s.ok()) *queues = std::move(opened);
  return s;
}

// With --follow a missing queue is created, so that a service can start before its first key is
// added.
wq::Status WorkStore::OpenQueue(const std::string& name, wq::Queue** queue) {
  wq::QueueOptions queue_options = ToolQueueOptions();
  queue_options.create_if_missing = false;
  queue_options.max_requeues = options_.max_requeues.value_or(0);
  queue_options.limiter = std::make_shared<wq::ItemExponentialFailure>(
      options_.base_delay.value_or(std::chrono::milliseconds{5}),
      options_.max_delay.value_or(std::chrono::seconds{1000}));
  queue_options.durability = options_.durability;
  wq::Status s = store_->OpenQueue(name, queue_options, queue);
  if (s.code() == wq::StatusCode::kNotFound && options_.follow) {
    LogInfo("queue \"" + wq::EscapeKey(name) + "\" does not exist yet: creating it");
    queue_options.create_if_missing = true;
    s = store_->OpenQueue(name, queue_options, queue);
  }
  return s;
}

// The counters of a queue go on with its next observer: they belong to the provider.
std::shared_ptr<wq::ControllerObserver> WorkStore::ObserverOf(const std::string& queue) const {
  if (metrics_ == nullptr) return nullptr;
  return std::make_shared<wq::ControllerMetrics>(metrics_, queue,
                                                 static_cast<uint32_t>(options_.workers));
}

wq::Status WorkStore::Serve() {
  wq::ServerOptions server;
  server.open_queue = [store = store_.get(), durability = options_.durability](
                          std::string_view name, bool create, wq::Queue** queue) {
    wq::QueueOptions queue_options = ToolQueueOptions();
    queue_options.durability = durability;
    queue_options.create_if_missing = create;
    return store->OpenQueue(name, queue_options, queue);
  };
  server.control_socket = true;
  if (wq::Status s = wq::Server::Open(store_.get(), server, &control_); !s.ok()) {
    LogWarning("other processes cannot change the store during this run: " +
               wq::EscapeKey(s.message(), 4096));
  }
  if (options_.http_address.empty()) return wq::Status::Ok();
  server.control_socket = false;
  server.http_address = options_.http_address;
  server.http_any_address = options_.http_any_address;
  server.metrics = [metrics = metrics_] { return wq::PrometheusText(*metrics); };
  wq::Status s = wq::Server::Open(store_.get(), server, &http_);
  if (s.ok()) LogInfo("serving metrics on port " + std::to_string(http_->http_port()));
  return s;
}

wq::Status WorkStore::TakeToken(uint64_t* token) {
  return control_ != nullptr ? control_->TakeToken(token) : store_->ReserveTokens(1, token);
}

// Store::Health does not know of a write that is still to come: the last outcome's.
wq::Status WorkStore::Health() const {
  if (wq::Status s = store_->Flush(); s.code() != wq::StatusCode::kNotDurable) return s;
  return store_->Health();
}

wq::Status WorkStore::Attach(const std::string& owned, WorkQueues* queues, bool* again) {
  wq::LiveInfo info;
  wq::Status s = live_->Read(&info);
  *again = !s.ok();
  if (!s.ok()) return s;
  WorkQueues opened;
  for (const std::string& name : options_.queues) {
    std::shared_ptr<WorkQueue> queue;
    s = OpenRemoteQueue(live_,
                        {.name = name,
                         .create = options_.follow,
                         .max_requeues = options_.max_requeues,
                         .on_ready = options_.on_ready},
                        &queue);
    // It ends, or its queues do.
    *again = s.code() == wq::StatusCode::kIOError || s.code() == wq::StatusCode::kShuttingDown ||
             s.code() == wq::StatusCode::kTimedOut || s.code() == wq::StatusCode::kNotDurable;
    if (!s.ok()) return ExplainMissing(options_.dir, name, s);
    wq::QueueCounts counts;
    s = queue->Counts(&counts);
    *again = !s.ok();
    if (!s.ok()) return s;
    if (MayBegin(name, counts)) opened.push_back(std::move(queue));
  }
  LogInfo(wq::EscapeKey(owned, 4096) + ": working for it");
  if (!std::exchange(attached_before_, true)) {
    if (options_.base_delay || options_.max_delay) {
      LogWarning("--base-delay and --max-delay have no effect: the owner's delays apply");
    }
    if (!options_.http_address.empty()) {
      LogWarning("--http has no effect while another process owns the store");
    }
  }
  *queues = std::move(opened);
  return s;
}

// False, with a message, if the queue is paused and --follow is not set.
bool WorkStore::MayBegin(const std::string& name, const wq::QueueCounts& counts) const {
  if (!counts.paused) return true;
  const std::string paused = "queue \"" + wq::EscapeKey(name) + "\" is paused: ";
  if (options_.follow) {
    LogInfo(paused + "waiting for the end of the pause");
    return true;
  }
  LogInfo(paused + std::to_string(counts.queued + counts.delayed) +
          " keys stay in the store; wqctl resume ends a pause, --follow waits for its end");
  return false;
}

}  // namespace wqctl
