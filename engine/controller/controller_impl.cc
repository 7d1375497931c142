// The threads of a controller: its workers, and the one for timeouts.

#include "engine/controller/controller_impl.h"

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <random>
#include <string>

#include "wq/clock.h"
#include "wq/internal/queue_calls.h"

namespace wq {
namespace {

// Not 0, which is no id.
uint64_t RandomId() {
  thread_local std::mt19937_64 random = [] {
    std::random_device device;
    std::seed_seq seed{device(), device(), device(), device()};
    return std::mt19937_64(seed);
  }();
  uint64_t id = 0;
  while (id == 0) {
    id = random();
  }
  return id;
}

// The header `traceparent` of a new span in a new trace, which is sampled, with random ids:
// https://www.w3.org/TR/trace-context/, version 00.
std::string NewTraceParent() {
  char text[sizeof "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"];
  std::snprintf(text, sizeof text, "00-%016" PRIx64 "%016" PRIx64 "-%016" PRIx64 "-01", RandomId(),
                RandomId(), RandomId());
  return text;
}

// Whether the queue returns this because it ends: it is shut down, or another process owns its
// store now.
bool Ends(const Status& status) {
  return status.code() == StatusCode::kShuttingDown || status.code() == StatusCode::kNotOwner;
}

// The controller that the calling thread belongs to; null for any other thread.
thread_local const Controller::Impl* thread_controller = nullptr;

ReconcileOutcome OutcomeOf(const Result& result) {
  if (!result.error().ok()) {
    return ReconcileOutcome::kError;
  }
  if (result.requeue_after().count() > 0) {
    return ReconcileOutcome::kRequeueAfter;
  }
  return result.requeue() ? ReconcileOutcome::kRequeue : ReconcileOutcome::kSuccess;
}

std::string_view ErrorText(const Status& error) {
  return error.ok() || !error.message().empty() ? std::string_view(error.message())
                                                : StatusCodeName(error.code());
}

}  // namespace

bool Controller::Impl::IsOwnThread() const { return thread_controller == this; }

// --- A worker ---

void Controller::Impl::Work(std::unique_ptr<Worker> worker) {
  thread_controller = this;
  std::string key;
  for (Runs::iterator run; Take(worker.get(), &key, &run);) {
    Reconcile(key, run);
  }
  worker.reset();  // The other workers get its shards.
  const MutexLock lock(mu);
  if (--live == 0) {
    watch_cv.NotifyAll();
    ended_cv.NotifyAll();
  }
}

bool Controller::Impl::Take(Worker* worker, std::string* key, Runs::iterator* run) {
  {
    const MutexLock lock(mu);
    if (stopping) {
      return false;
    }
  }
  if (!NoteError(worker == nullptr ? queue->Get(key) : worker->Get(key)).ok()) {
    return false;
  }
  const MutexLock lock(mu);
  if (stopping) {
    ++counters.left;  // Without Done it stays in the store.
    return false;
  }
  *run = runs.emplace(runs.end());
  (*run)->begun = std::chrono::steady_clock::now();
  if (options.reconcile_timeout.count() > 0 &&
      After((*run)->begun, options.reconcile_timeout) < watch_wakes_at) {
    watch_cv.NotifyAll();
  }
  return true;
}

void Controller::Impl::Reconcile(const std::string& key, Runs::iterator run) {
  Reconciled reconciled;
  reconciled.queue = queue->name();
  reconciled.key = key;
  AttemptTrace trace;
  if (options.trace) {
    trace = BeginTrace(key);
    reconciled.trace = &trace;
  }
  if (options.observer != nullptr) {
    options.observer->OnBegin(key);
  }
  const Result result =
      Call(ReconcileContext(queue, key, run->stop.get_token(), trace.trace_parent),
           &reconciled.exception);
  reconciled.duration = std::chrono::steady_clock::now() - run->begun;
  bool interrupted = false;
  {
    const MutexLock lock(mu);
    reconciled.timed_out = run->timed_out;
    interrupted = stopping && Ends(result.error());
    runs.erase(run);
  }
  reconciled.outcome = OutcomeOf(result);
  reconciled.error = ErrorText(result.error());
  reconciled.terminal = result.terminal();
  reconciled.left = interrupted || !ReportResult(key, result);
  Count(reconciled);
  if (options.observer != nullptr) {
    options.observer->OnEnd(reconciled);
  }
}

AttemptTrace Controller::Impl::BeginTrace(const std::string& key) const {
  AttemptTrace trace{.trace_parent = NewTraceParent(),
                     .begun_at_us = Clock::System()->WallUs(),
                     .failures = queue->NumRequeues(key)};
  static_cast<void>(queue->CausesOf(key, &trace.causes));  // Deleted meanwhile: it has none.
  return trace;
}

Result Controller::Impl::Call(const ReconcileContext& context, bool* threw) const {
  std::string what;
  try {
    return reconciler(context);
  } catch (const std::exception& e) {
    what = e.what();
  } catch (...) {  // It has no text.
  }
  *threw = true;
  return Status::InvalidArgument(what.empty() ? "unknown exception"
                                              : what);  // Only the text is used.
}

bool Controller::Impl::ReportResult(const std::string& key, const Result& result) {
  // A Done without the Requeue before it would lose the key.
  return IsApplied(NoteError(Requeue(key, result))) && IsApplied(NoteError(queue->Done(key)));
}

Status Controller::Impl::Requeue(const std::string& key, const Result& result) {
  switch (OutcomeOf(result)) {
    case ReconcileOutcome::kSuccess:
      return queue->Forget(key);
    case ReconcileOutcome::kError:
      if (!result.terminal()) {
        return queue->AddRateLimited(key, ErrorText(result.error()));
      }
      return options.terminal_errors == TerminalErrorPolicy::kDrop
                 ? queue->Forget(key)
                 : queue->Quarantine(key, ErrorText(result.error()));
    case ReconcileOutcome::kRequeue:
      return queue->AddRateLimited(key);
    case ReconcileOutcome::kRequeueAfter:
      break;
  }
  // Forget last: a requeue that is refused leaves the count as it was.
  const Status s = NoteError(queue->AddAfter(key, result.requeue_after()));
  return IsApplied(s) ? queue->Forget(key) : s;
}

Status Controller::Impl::NoteError(Status s) {
  if (!s.ok() && !Ends(s)) {
    const MutexLock lock(mu);
    ++counters.queue_errors;
    health = s;
  }
  return s;
}

void Controller::Impl::Count(const Reconciled& reconciled) {
  const MutexLock lock(mu);
  switch (reconciled.outcome) {
    case ReconcileOutcome::kSuccess:
      ++counters.success;
      break;
    case ReconcileOutcome::kError:
      ++counters.error;
      break;
    case ReconcileOutcome::kRequeue:
      ++counters.requeue;
      break;
    case ReconcileOutcome::kRequeueAfter:
      ++counters.requeue_after;
      break;
  }
  counters.terminal_errors += reconciled.terminal ? 1 : 0;
  counters.exceptions += reconciled.exception ? 1 : 0;
  counters.timeouts += reconciled.timed_out ? 1 : 0;
  counters.left += reconciled.left ? 1 : 0;
}

// --- Timeouts ---

void Controller::Impl::Watch() {
  thread_controller = this;
  while (std::optional<std::stop_source> stop = NextTimedOut()) {
    stop->request_stop();
  }
}

std::optional<std::stop_source> Controller::Impl::NextTimedOut() {
  const MutexLock lock(mu);
  watch_wakes_at = SteadyTime::min();  // This thread is awake: no notification is needed.
  while (live > 0) {
    const auto next =
        std::find_if(runs.begin(), runs.end(), [](const Run& run) { return !run.timed_out; });
    if (next == runs.end()) {
      watch_wakes_at = SteadyTime::max();
      watch_cv.Wait(mu);
      continue;
    }
    watch_wakes_at = After(next->begun, options.reconcile_timeout);
    if (std::chrono::steady_clock::now() >= watch_wakes_at) {
      next->timed_out = true;
      return next->stop;
    }
    watch_cv.WaitUntil(mu, watch_wakes_at);
  }
  return std::nullopt;
}

}  // namespace wq
