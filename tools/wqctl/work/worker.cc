#include "tools/wqctl/work/worker.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "tools/wqctl/text/log.h"
#include "wq/keys.h"

namespace wqctl {

WorkerPool::WorkerPool(const WorkerOptions& options, const CommandRunner& runner,
                       StatusLine* status_line, wq::Queue* queue)
    : options_(options),
      runner_(runner),
      status_line_(*status_line),
      queue_(queue),
      event_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

WorkerPool::~WorkerPool() { close(event_fd_); }

void WorkerPool::Start() {
  StopIfDrained();  // If there is nothing to do, there is no last Done.
  running_threads_ = options_.workers;
  for (int i = 0; i < options_.workers; ++i) threads_.emplace_back([this] { RunWorker(); });
}

void WorkerPool::Join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

size_t WorkerPool::Stop() {
  const wq::MutexLock lock(mu_);
  stopping_ = true;
  // A stopped queue refuses failures, so it is stopped only when no command runs. That wakes the
  // workers that wait for a key.
  if (busy_ == 0) queue_->Stop();
  return busy_;
}

bool WorkerPool::Stopping() const {
  const wq::MutexLock lock(mu_);
  return stopping_;
}

void WorkerPool::ClearEvent() const {
  eventfd_t value = 0;
  eventfd_read(event_fd_, &value);
}

WorkerPool::Totals WorkerPool::totals() const {
  return {succeeded_, failed_attempts_, quarantined_, killed_};
}

wq::Status WorkerPool::error() const {
  const wq::MutexLock lock(mu_);
  return error_;
}

std::string WorkerPool::ProgressText() const {
  const wq::QueueCounts counts = queue_->Counts();
  return "succeeded " + std::to_string(succeeded_) + ", failed attempts " +
         std::to_string(failed_attempts_) + " | queued " + std::to_string(counts.queued) +
         ", processing " + std::to_string(counts.processing) + ", delayed " +
         std::to_string(counts.delayed);
}

void WorkerPool::RunWorker() {
  std::string key;
  while (queue_->Get(&key).ok() && BeginKey()) {
    if (wq::Status s = Process(key); !s.ok()) StopFor(s);
    EndKey();
  }
  --running_threads_;
  Notify();
}

// False when stopping: the caller ends without Done, so the key stays pending.
bool WorkerPool::BeginKey() {
  const wq::MutexLock lock(mu_);
  if (!stopping_) ++busy_;
  return !stopping_;
}

void WorkerPool::EndKey() {
  {
    const wq::MutexLock lock(mu_);
    --busy_;
    if (stopping_ && busy_ == 0) queue_->Stop();
  }
  StopIfDrained();
}

wq::Status WorkerPool::Process(const std::string& key) {
  const CommandResult result = runner_.Run(key);
  switch (result.kind) {
    case CommandResult::Kind::kSucceeded:
      if (wq::Status s = queue_->Forget(key); !s.ok()) return s;
      ++succeeded_;
      return queue_->Done(key);
    case CommandResult::Kind::kFailed:
      return RecordFailure(key, result.error);
    case CommandResult::Kind::kKilled:
      ++killed_;
      return wq::Status::Ok();
    case CommandResult::Kind::kCannotRun:
      return wq::Status::IOError(result.error);
  }
  return wq::Status::Ok();
}

wq::Status WorkerPool::RecordFailure(const std::string& key, const std::string& error) {
  ++failed_attempts_;
  wq::AddOutcome outcome = wq::AddOutcome::kAdded;
  if (wq::Status s = queue_->AddRateLimited(key, error, {}, &outcome); !s.ok()) return s;
  const bool quarantined = outcome == wq::AddOutcome::kHeld || options_.no_requeues;
  if (options_.no_requeues) {
    // Cancels the delay. After a kill before this call, the key's next failure quarantines it.
    if (wq::Status s = queue_->Quarantine(key); !s.ok()) return s;
  }
  if (quarantined) {
    ++quarantined_;
    status_line_.Show("");
    const uint64_t failures = queue_->NumRequeues(key);
    LogError("quarantined \"" + wq::EscapeKey(key) + "\" after " + std::to_string(failures) +
             (failures == 1 ? " failure: " : " failures: ") + wq::EscapeKey(error, 1024));
  }
  return queue_->Done(key);
}

void WorkerPool::StopIfDrained() {
  if (options_.follow) return;
  const wq::QueueCounts counts = queue_->Counts();
  if (counts.queued + counts.processing + counts.delayed == 0) queue_->Stop();
}

void WorkerPool::StopFor(const wq::Status& error) {
  {
    const wq::MutexLock lock(mu_);
    if (error_.ok()) error_ = error;
    stopping_ = true;
  }
  Notify();
}

void WorkerPool::Notify() const { eventfd_write(event_fd_, 1); }

}  // namespace wqctl
