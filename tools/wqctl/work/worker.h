// WorkerPool: threads that get keys, run the command for each, and record the outcome.
//
//   WorkerPool pool(options, runner, &status_line, queue);
//   pool.Start();
//   while (!pool.AllEnded()) … poll(pool.event_fd()) …
//   pool.Join();
//
//   the command     earlier failures    what is recorded
//   succeeded       any                 Forget, Done
//   failed          < max_requeues      AddRateLimited, Done
//   failed          max_requeues        AddRateLimited, which quarantines the key, Done; the key is
//                                       named on stderr
//   killed by us    any                 nothing: without Done the key stays pending in the store
//   cannot be run   any                 nothing, and all workers stop
//
// The workers end when nothing is queued, processing or delayed (unless options.follow), after
// Stop, or after an error of the store. No thread polls: the worker whose Done leaves nothing to do
// stops the queue. Threading: Start, Join and the destructor belong to one thread; the rest is
// thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "tools/wqctl/work/runner.h"
#include "tools/wqctl/work/status_line.h"
#include "wq/queue.h"
#include "wq/status.h"

namespace wqctl {

struct WorkerOptions {
  int workers = 1;
  // Quarantine a key at its first failure. QueueOptions::max_requeues cannot express that, since 0
  // means never there; the queue enforces every other limit.
  bool no_requeues = false;
  bool follow = false;
};

class WorkerPool {
 public:
  struct Totals {
    uint64_t succeeded = 0;
    uint64_t failed_attempts = 0;
    uint64_t quarantined = 0;
    uint64_t killed = 0;  // By us; the keys stay pending.
  };

  WorkerPool(const WorkerOptions& options, const CommandRunner& runner, StatusLine* status_line,
             wq::Queue* queue);
  ~WorkerPool();  // REQUIRES: not started, or joined.
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  void Start();
  void Join();

  // No further key is begun; running commands continue. Returns the number of running commands.
  size_t Stop();
  bool Stopping() const;  // By Stop or by an error.
  bool AllEnded() const { return running_threads_ == 0; }

  // An eventfd that becomes readable when a worker ends or the pool begins to stop.
  int event_fd() const { return event_fd_; }
  void ClearEvent() const;

  Totals totals() const;
  wq::Status error() const;  // The first error; it has stopped the pool.
  std::string ProgressText() const;

 private:
  void RunWorker();
  bool BeginKey();
  void EndKey();
  wq::Status Process(const std::string& key);
  wq::Status RecordFailure(const std::string& key, const std::string& error);
  void StopIfDrained();
  void StopFor(const wq::Status& error);
  void Notify() const;

  const WorkerOptions options_;
  const CommandRunner& runner_;
  StatusLine& status_line_;
  wq::Queue* const queue_;
  const int event_fd_;
  std::atomic<int> running_threads_{0};
  std::atomic<uint64_t> succeeded_{0};
  std::atomic<uint64_t> failed_attempts_{0};
  std::atomic<uint64_t> quarantined_{0};
  std::atomic<uint64_t> killed_{0};
  std::vector<std::thread> threads_;

  mutable wq::Mutex mu_;
  bool stopping_ WQ_GUARDED_BY(mu_) = false;
  size_t busy_ WQ_GUARDED_BY(mu_) = 0;   // Workers between BeginKey and EndKey.
  wq::Status error_ WQ_GUARDED_BY(mu_);  // The first one.
};

}  // namespace wqctl
