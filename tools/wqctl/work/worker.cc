#include "tools/wqctl/work/worker.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <system_error>

#include "tools/wqctl/text/duration.h"
#include "tools/wqctl/text/log.h"
#include "wq/controller.h"
#include "wq/internal/queue_calls.h"
#include "wq/keys.h"

namespace wqctl {

std::optional<wq::QueueCounts> SumOf(const WorkQueues& queues) {
  wq::QueueCounts sum;
  for (const auto& queue : queues) {
    wq::QueueCounts counts;
    if (!queue->Counts(&counts).ok()) return std::nullopt;
    sum.queued += counts.queued;
    sum.processing += counts.processing;
    sum.delayed += counts.delayed;
    if (counts.next_due_us) {
      sum.next_due_us =
          std::min(sum.next_due_us.value_or(*counts.next_due_us), *counts.next_due_us);
    }
  }
  return sum;
}

WorkerPool::WorkerPool(int workers, const WorkerContext& context)
    : workers_(workers), context_(context), event_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

WorkerPool::~WorkerPool() { close(event_fd_); }

wq::Status WorkerPool::Start() {
  running_threads_ = workers_;
  for (int i = 0; i < workers_; ++i) {
    try {
      threads_.emplace_back([this] { RunWorker(); });
    } catch (const std::system_error& error) {
      running_threads_ -= workers_ - i;
      const std::string text = std::string("cannot start a thread: ") + error.what();
      if (i == 0) return wq::Status::IOError(text);
      LogWarning(text + "; at most " + std::to_string(i) + " commands run at once");
      break;
    }
  }
  return wq::Status::Ok();
}

void WorkerPool::Join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

int WorkerPool::Stop(StopReason reason) {
  {
    const wq::MutexLock lock(mu_);
    if (stop_reason_ == StopReason::kNone) stop_reason_ = reason;
  }
  const int busy = context_.source.Stop();
  Notify();
  return busy;
}

StopReason WorkerPool::stop_reason() const {
  const wq::MutexLock lock(mu_);
  return stop_reason_;
}

void WorkerPool::ClearEvent() const {
  eventfd_t value = 0;
  eventfd_read(event_fd_, &value);
}

WorkerPool::Totals WorkerPool::totals() const {
  return {succeeded_, failed_attempts_, quarantined_, unrecorded_};
}

wq::Status WorkerPool::error() const {
  const wq::MutexLock lock(mu_);
  return error_;
}

std::string WorkerPool::ProgressText() const {
  std::string outcomes = "succeeded " + std::to_string(succeeded_) + ", failed attempts " +
                         std::to_string(failed_attempts_);
  const std::optional<wq::QueueCounts> counts = SumOf(context_.source.queues());
  if (!counts) return outcomes;
  return outcomes + " | queued " + std::to_string(counts->queued) + ", processing " +
         std::to_string(counts->processing) + ", delayed " + std::to_string(counts->delayed);
}

std::string WorkerPool::WaitText() const {
  const std::optional<wq::QueueCounts> counts = SumOf(context_.source.queues());
  if (!counts || counts->queued + counts->processing > 0 || !counts->next_due_us) return "";
  return "waiting for " + std::to_string(counts->delayed) +
         (counts->delayed == 1 ? " delayed key" : " delayed keys") + "; the next one is due in " +
         FormatAge(std::chrono::microseconds{*counts->next_due_us});
}

void WorkerPool::RunWorker() {
  Job job;
  while (context_.source.Next(&job)) {
    Process(job);
    context_.source.End(job);
  }
  if (wq::Status s = context_.source.error(); !s.ok()) StopFor(s);
  --running_threads_;
  Notify();
}

void WorkerPool::Process(const Job& job) {
  wq::ControllerObserver* const observer = job.queue->observer();
  if (observer != nullptr) observer->OnBegin(job.key);
  CommandResult result;
  const Recorded recorded = RunAndRecord(job, &result);
  if (observer == nullptr) return;
  wq::Reconciled attempt{.key = job.key, .error = result.error, .duration = result.ran_for};
  attempt.left = recorded == Recorded::kNothing;
  if (attempt.left || result.kind != CommandResult::Kind::kSucceeded) {
    attempt.outcome = wq::ReconcileOutcome::kError;
  }
  attempt.terminal = recorded == Recorded::kQuarantined;
  attempt.timed_out = result.timed_out;
  observer->OnEnd(attempt);
}

WorkerPool::Recorded WorkerPool::RunAndRecord(const Job& job, CommandResult* result) {
  JobOutput output(&context_.printer, job.key);
  if (!RunUntilStarted(job, &output, result)) return Recorded::kNothing;
  const bool printed = output.Finish();
  // A command may have failed because of our stdout, and its output may be lost.
  const bool failed = result->kind == CommandResult::Kind::kFailed;
  if (!printed || (failed && StdoutError() != 0)) {
    ++unrecorded_;
    Stop(StopReason::kOutputGone);
    return Recorded::kNothing;
  }
  Recorded recorded = Recorded::kNothing;
  if (wq::Status s = Record(job, *result, &recorded);
      s.code() == wq::StatusCode::kNotProcessing || s.code() == wq::StatusCode::kNotOwner) {
    WarnOfLostOutcome(job, s);
    if (s.code() == wq::StatusCode::kNotOwner) StopFor(s);
  } else if (s.code() == wq::StatusCode::kNotDurable) {
    context_.source.NoteStoreFailed();
  } else if (!s.ok()) {
    StopFor(s);
  }
  return recorded;
}

// False: stopped before the command could be started.
bool WorkerPool::RunUntilStarted(const Job& job, JobOutput* output, CommandResult* result) {
  while (true) {
    *result = context_.runner.Run(job, output);
    if (result->kind != CommandResult::Kind::kNoResources) return true;
    WarnOfResources(result->error);
    if (!context_.source.WaitForResources()) return false;
  }
}

wq::Status WorkerPool::Record(const Job& job, const CommandResult& result, Recorded* recorded) {
  switch (result.kind) {
    case CommandResult::Kind::kSucceeded:
      return RecordSuccess(job, recorded);
    case CommandResult::Kind::kFailed:
      return RecordFailure(job, result.error, recorded);
    case CommandResult::Kind::kKilled:
      ++unrecorded_;
      return wq::Status::Ok();
    case CommandResult::Kind::kCannotRun:
      return wq::Status::IOError(result.error);
    case CommandResult::Kind::kNoResources:  // See RunUntilStarted.
      break;
  }
  return wq::Status::Ok();
}

wq::Status WorkerPool::RecordSuccess(const Job& job, Recorded* recorded) {
  wq::Status s = job.queue->Succeed(job);
  if (!IsApplied(s)) return s;
  ++succeeded_;
  *recorded = Recorded::kOutcome;
  return s;
}

wq::Status WorkerPool::RecordFailure(const Job& job, const std::string& error, Recorded* recorded) {
  FailedKey failed;
  wq::Status s = job.queue->Fail(job, error, &failed);
  if (!IsApplied(s)) return s;
  ++failed_attempts_;
  *recorded = failed.quarantined ? Recorded::kQuarantined : Recorded::kOutcome;
  if (failed.quarantined) {
    ++quarantined_;
    const bool several = context_.source.queues().size() > 1;
    LogError("quarantined \"" + wq::EscapeKey(job.key) + "\"" +
             (several ? " of queue \"" + wq::EscapeKey(job.queue->name()) + "\"" : "") + " after " +
             std::to_string(failed.failures) +
             (failed.failures == 1 ? " failure: " : " failures: ") +
             wq::EscapeKey(error, wq::kMaxErrorBytes));
  }
  return s;
}

void WorkerPool::WarnOfLostOutcome(const Job& job, const wq::Status& why) {
  LogWarning("the outcome of \"" + wq::EscapeKey(job.key) +
             "\" may be lost, and the key processed again: " + wq::EscapeKey(why.message(), 1024));
}

void WorkerPool::WarnOfResources(const std::string& error) {
  if (warned_of_resources_.exchange(true)) return;
  LogWarning(error + ": running fewer commands at once; no failure is counted");
}

void WorkerPool::StopFor(const wq::Status& error) {
  if (error.code() == wq::StatusCode::kNotOwner) {
    Stop(StopReason::kNotOwner);
    return;
  }
  {
    const wq::MutexLock lock(mu_);
    if (error_.ok()) error_ = error;
  }
  Stop(StopReason::kError);
}

void WorkerPool::Notify() const { eventfd_write(event_fd_, 1); }

}  // namespace wqctl
