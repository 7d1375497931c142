// The public calls of a Controller, and how its threads start and end.

#include "wq/controller.h"

#include <exception>

#include "base/check.h"
#include "engine/controller/controller_impl.h"

namespace wq {

// --- Result, context ---

ControllerObserver::~ControllerObserver() = default;

Result Result::Requeue() {
  Result result;
  result.requeue_ = true;
  return result;
}

Result Result::RequeueAfter(std::chrono::microseconds delay) {
  Result result;
  result.requeue_after_ = delay;
  return result;
}

Result Result::TerminalError(Status error) {
  Result result(std::move(error));
  result.terminal_ = !result.error_.ok();
  return result;
}

uint64_t ReconcileContext::NumRequeues() const { return queue_->NumRequeues(key_); }
Causes ReconcileContext::Causes() const {
  wq::Causes causes;
  static_cast<void>(queue_->CausesOf(key_, &causes));  // Without any if it is not held any more.
  return causes;
}

bool ReconcileContext::AddedAgain() const { return queue_->AddedAgain(key_); }

std::string_view ReconcileOutcomeName(ReconcileOutcome outcome) {
  switch (outcome) {
    case ReconcileOutcome::kSuccess:
      return "success";
    case ReconcileOutcome::kError:
      return "error";
    case ReconcileOutcome::kRequeue:
      return "requeue";
    case ReconcileOutcome::kRequeueAfter:
      return "requeue_after";
  }
  return "unknown";
}

// --- Starting ---

Status Controller::Impl::CheckStart() const {
  if (queue == nullptr || reconciler == nullptr) {
    return Status::InvalidArgument(queue == nullptr ? "no queue" : "no reconciler");
  }
  if (options.max_concurrent_reconciles == 0) {
    return Status::InvalidArgument("max_concurrent_reconciles is 0");
  }
  if (options.max_concurrent_reconciles > kMaxConcurrentReconciles) {
    return Status::InvalidArgument("max_concurrent_reconciles is above " +
                                   std::to_string(kMaxConcurrentReconciles));
  }
  if (options.reconcile_timeout.count() < 0) {
    return Status::InvalidArgument("reconcile_timeout is negative");
  }
  return queue->IsShuttingDown()
             ? Status::ShuttingDown("queue '" + queue->name() + "' is shutting down")
             : Status::Ok();
}

// Null pointers if the queue has no shards.
Status Controller::Impl::JoinShards(std::vector<std::unique_ptr<Worker>>* workers) const {
  workers->resize(options.max_concurrent_reconciles);
  for (std::unique_ptr<Worker>& worker : *workers) {
    if (Status s = queue->Join(&worker); !s.ok()) {
      return s.code() == StatusCode::kInvalidArgument ? Status::Ok() : s;  // No shards.
    }
  }
  return {};
}

// The threads wait for mu, so they do nothing before all have been started or one could not be.
Status Controller::Impl::StartThreads(std::vector<std::unique_ptr<Worker>>* workers) {
  try {
    threads.reserve(workers->size() + 1);  // So that emplace_back cannot fail once a thread runs.
    for (std::unique_ptr<Worker>& worker : *workers) {
      threads.emplace_back([this](std::unique_ptr<Worker> own) { Work(std::move(own)); },
                           std::move(worker));
      ++live;
    }
    if (options.reconcile_timeout.count() > 0) {
      threads.emplace_back([this] { Watch(); });
    }
  } catch (const std::exception& e) {
    stopping = true;
    return Status::IOError("cannot start " + std::to_string(workers->size()) +
                           " workers: " + e.what());
  }
  return {};
}

// --- Ending ---

void Controller::Impl::RequestStop() {
  std::vector<std::stop_source> stops;
  {
    const MutexLock lock(mu);
    stopping = true;
    for (const Run& run : runs) {
      stops.push_back(run.stop);
    }
  }
  if (queue != nullptr) {
    queue->Stop();
  }
  for (std::stop_source& stop : stops) {
    stop.request_stop();
  }
}

Status Controller::Impl::AwaitWorkers(std::optional<SteadyTime> deadline) {
  std::vector<std::thread> ended;
  {
    const MutexLock lock(mu);
    for (bool in_time = true; live > 0;) {
      if (!in_time) {
        return Status::TimedOut(std::to_string(runs.size()) + " reconciles and " +
                                std::to_string(live) + " workers did not end in time");
      }
      if (deadline.has_value()) {
        in_time = ended_cv.WaitUntil(mu, *deadline);
      } else {
        ended_cv.Wait(mu);
      }
    }
    ended.swap(threads);
  }
  for (std::thread& thread : ended) {
    thread.join();
  }
  return {};
}

// --- Controller ---

Controller::Controller(Queue* queue, Reconciler reconciler, const ControllerOptions& options)
    : impl_(std::make_unique<Impl>(queue, std::move(reconciler), options)) {}

Controller::~Controller() {
  WQ_CHECK(!impl_->IsOwnThread(), "a controller destroyed by its own reconciler");
  bool running = false;
  {
    const MutexLock lock(impl_->mu);
    running = impl_->live > 0;
  }
  if (running) {
    impl_->RequestStop();
  }
  const Status joined = impl_->AwaitWorkers(std::nullopt);
  WQ_CHECK(joined.ok(), "a wait without a deadline ended early");
}

Status Controller::Start() {
  if (Status s = impl_->CheckStart(); !s.ok()) {
    return s;
  }
  std::vector<std::unique_ptr<Worker>> workers;
  if (Status s = impl_->JoinShards(&workers); !s.ok()) {
    return s;
  }
  Status started;
  {
    const MutexLock lock(impl_->mu);
    if (impl_->started || impl_->stopping) {
      return impl_->started ? Status::InvalidArgument("the controller was started before")
                            : Status::ShuttingDown("the controller was stopped");
    }
    impl_->started = true;
    started = impl_->StartThreads(&workers);
  }
  if (!started.ok()) {
    const Status ended = impl_->AwaitWorkers(std::nullopt);
    static_cast<void>(ended);  // Without a deadline it is Ok.
  }
  return started;
}

Status Controller::Drain(std::chrono::microseconds timeout) {
  const Impl::SteadyTime deadline = Impl::After(std::chrono::steady_clock::now(), timeout);
  if (impl_->IsOwnThread()) {
    impl_->queue->ShutDown();
    return Status::ShuttingDown("the drain has begun; a reconciler cannot wait for itself");
  }
  if (impl_->queue == nullptr) {
    return {};
  }
  const Status s = impl_->queue->ShutDownWithDrain(timeout);
  return s.ok() ? impl_->AwaitWorkers(deadline) : s;
}

Status Controller::Stop(std::chrono::microseconds grace) {
  const Impl::SteadyTime deadline = Impl::After(std::chrono::steady_clock::now(), grace);
  impl_->RequestStop();
  if (impl_->IsOwnThread()) {
    return Status::ShuttingDown("the stop has begun; a reconciler cannot wait for itself");
  }
  return impl_->AwaitWorkers(deadline);
}

ControllerCounters Controller::Counters() const {
  const MutexLock lock(impl_->mu);
  ControllerCounters counters = impl_->counters;
  counters.active_workers = impl_->runs.size();
  return counters;
}

Status Controller::Health() const {
  const MutexLock lock(impl_->mu);
  return impl_->health;
}

}  // namespace wq
