#include "tools/wqctl/work/worker.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <system_error>

#include "tools/wqctl/text/duration.h"
#include "tools/wqctl/text/log.h"
#include "wq/keys.h"

namespace wqctl {

WorkerPool::WorkerPool(const WorkerOptions& options, const WorkerContext& context)
    : options_(options), context_(context), event_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

WorkerPool::~WorkerPool() { close(event_fd_); }

wq::Status WorkerPool::Start() {
  running_threads_ = options_.workers;
  for (int i = 0; i < options_.workers; ++i) {
    try {
      threads_.emplace_back([this] { RunWorker(); });
    } catch (const std::system_error& error) {
      running_threads_ -= options_.workers - i;
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
  size_t queued = 0;
  size_t processing = 0;
  size_t delayed = 0;
  for (const wq::Queue* queue : context_.source.queues()) {
    const wq::QueueCounts counts = queue->Counts();
    queued += counts.queued;
    processing += counts.processing;
    delayed += counts.delayed;
  }
  return "succeeded " + std::to_string(succeeded_) + ", failed attempts " +
         std::to_string(failed_attempts_) + " | queued " + std::to_string(queued) +
         ", processing " + std::to_string(processing) + ", delayed " + std::to_string(delayed);
}

std::string WorkerPool::WaitText() const {
  size_t delayed = 0;
  int64_t next_us = std::numeric_limits<int64_t>::max();
  for (const wq::Queue* queue : context_.source.queues()) {
    const wq::QueueCounts counts = queue->Counts();
    if (counts.queued + counts.processing > 0) return "";
    delayed += counts.delayed;
    next_us = std::min(next_us, counts.next_due_us.value_or(next_us));
  }
  if (delayed == 0) return "";
  return "waiting for " + std::to_string(delayed) +
         (delayed == 1 ? " delayed key" : " delayed keys") + "; the next one is due in " +
         FormatAge(std::chrono::microseconds{next_us});
}

void WorkerPool::RunWorker() {
  Job job;
  while (context_.source.Next(&job)) {
    Process(job);
    context_.source.End(job);
  }
  --running_threads_;
  Notify();
}

void WorkerPool::Process(const Job& job) {
  JobOutput output(&context_.printer, job);
  CommandResult result;
  if (!RunUntilStarted(job, &output, &result)) return context_.printer.Skip(job.sequence);
  const bool printed = output.Finish();
  if (context_.job_log != nullptr && result.kind != CommandResult::Kind::kCannotRun) {
    wq::Status s = context_.job_log->Add(job, result, output.stdout_bytes(),
                                         ShellText(context_.command.ArgvFor(job)));
    if (!s.ok()) StopFor(s);
  }
  // A command may have failed because of our stdout, and its output may be lost.
  const bool failed = result.kind == CommandResult::Kind::kFailed;
  if (!printed || (failed && StdoutIsGone())) {
    ++unrecorded_;
    Stop(StopReason::kOutputGone);
    return;
  }
  if (wq::Status s = Record(job, result); !s.ok()) StopFor(s);
  HaltIfReached();
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

wq::Status WorkerPool::Record(const Job& job, const CommandResult& result) {
  switch (result.kind) {
    case CommandResult::Kind::kSucceeded:
      if (wq::Status s = job.queue->Forget(job.key); !s.ok()) return s;
      ++succeeded_;
      return job.queue->Done(job.key);
    case CommandResult::Kind::kFailed:
      return RecordFailure(job, result.error);
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

wq::Status WorkerPool::RecordFailure(const Job& job, const std::string& error) {
  ++failed_attempts_;
  wq::AddOutcome outcome = wq::AddOutcome::kAdded;
  if (wq::Status s = job.queue->AddRateLimited(job.key, error, {}, &outcome); !s.ok()) return s;
  const bool quarantined = outcome == wq::AddOutcome::kHeld || options_.no_requeues;
  if (options_.no_requeues) {
    // Cancels the delay. After a kill before this call, the key's next failure quarantines it.
    if (wq::Status s = job.queue->Quarantine(job.key); !s.ok()) return s;
  }
  if (quarantined) {
    ++quarantined_;
    context_.status_line.Show("");
    const uint64_t failures = job.queue->NumRequeues(job.key);
    const bool several = context_.source.queues().size() > 1;
    LogError("quarantined \"" + wq::EscapeKey(job.key) + "\"" +
             (several ? " of queue \"" + wq::EscapeKey(job.queue_name) + "\"" : "") + " after " +
             std::to_string(failures) + (failures == 1 ? " failure: " : " failures: ") +
             wq::EscapeKey(error, wq::kMaxErrorBytes));
  }
  return job.queue->Done(job.key);
}

void WorkerPool::WarnOfResources(const std::string& error) {
  if (warned_of_resources_.exchange(true)) return;
  context_.status_line.Show("");
  LogWarning(error + ": running fewer commands at once; no failure is counted");
}

void WorkerPool::HaltIfReached() {
  if (!options_.halt.Reached(succeeded_, failed_attempts_, options_.keys_at_start)) return;
  Stop(options_.halt.when == Halt::When::kNow ? StopReason::kHaltNow : StopReason::kHaltSoon);
}

void WorkerPool::StopFor(const wq::Status& error) {
  {
    const wq::MutexLock lock(mu_);
    if (error_.ok()) error_ = error;
  }
  Stop(StopReason::kError);
}

void WorkerPool::Notify() const { eventfd_write(event_fd_, 1); }

}  // namespace wqctl
