#include "wq/controller.h"

#include <exception>

#include "engine/controller_rep.h"
#include "storage/check.h"

namespace wq {

// --- Result, context ---

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

Status Controller::Rep::CheckStart() const {
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
Status Controller::Rep::JoinShards(std::vector<std::unique_ptr<Worker>>* workers) const {
  workers->resize(options.max_concurrent_reconciles);
  for (std::unique_ptr<Worker>& worker : *workers) {
    if (Status s = queue->Join(&worker); !s.ok()) {
      return s.code() == StatusCode::kInvalidArgument ? Status::Ok() : s;  // No shards.
    }
  }
  return {};
}

// They wait for mu, and so do nothing before it is known whether all could be started.
Status Controller::Rep::StartThreads(std::vector<std::unique_ptr<Worker>>* workers) {
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

void Controller::Rep::RequestStop() {
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

// Joins them, too.
Status Controller::Rep::AwaitWorkers(std::optional<SteadyTime> deadline) {
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
    : rep_(std::make_unique<Rep>(queue, std::move(reconciler), options)) {}

Controller::~Controller() {
  WQ_CHECK(!rep_->Inside(), "a controller destroyed by its own reconciler");
  bool running = false;
  {
    const MutexLock lock(rep_->mu);
    running = rep_->live > 0;
  }
  if (running) {
    rep_->RequestStop();
  }
  const Status joined = rep_->AwaitWorkers(std::nullopt);
  WQ_CHECK(joined.ok(), "a wait without a deadline ended early");
}

Status Controller::Start() {
  if (Status s = rep_->CheckStart(); !s.ok()) {
    return s;
  }
  std::vector<std::unique_ptr<Worker>> workers;
  if (Status s = rep_->JoinShards(&workers); !s.ok()) {
    return s;
  }
  Status started;
  {
    const MutexLock lock(rep_->mu);
    if (rep_->started || rep_->stopping) {
      return rep_->started ? Status::InvalidArgument("the controller was started before")
                           : Status::ShuttingDown("the controller was stopped");
    }
    rep_->started = true;
    started = rep_->StartThreads(&workers);
  }
  if (!started.ok()) {
    const Status ended = rep_->AwaitWorkers(std::nullopt);
    static_cast<void>(ended);  // Without a deadline it is Ok.
  }
  return started;
}

Status Controller::Drain(std::chrono::microseconds timeout) {
  const Rep::SteadyTime deadline = Rep::After(std::chrono::steady_clock::now(), timeout);
  if (rep_->Inside()) {
    rep_->queue->ShutDown();
    return Status::ShuttingDown("the drain has begun; a reconciler cannot wait for itself");
  }
  if (rep_->queue == nullptr) {
    return {};
  }
  const Status s = rep_->queue->ShutDownWithDrain(timeout);
  return s.ok() ? rep_->AwaitWorkers(deadline) : s;
}

Status Controller::Stop(std::chrono::microseconds grace) {
  const Rep::SteadyTime deadline = Rep::After(std::chrono::steady_clock::now(), grace);
  rep_->RequestStop();
  if (rep_->Inside()) {
    return Status::ShuttingDown("the stop has begun; a reconciler cannot wait for itself");
  }
  return rep_->AwaitWorkers(deadline);
}

ControllerCounters Controller::Counters() const {
  const MutexLock lock(rep_->mu);
  ControllerCounters counters = rep_->counters;
  counters.active_workers = rep_->runs.size();
  return counters;
}

Status Controller::Health() const {
  const MutexLock lock(rep_->mu);
  return rep_->health;
}

}  // namespace wq
