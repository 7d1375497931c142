// WorkerPool: threads that take keys, run the command for each, and record what came of it.
//
//   WorkerPool pool(options, runner, &status_line, queue);
//   pool.Start();
//   while (!pool.AllEnded()) … poll(pool.event_fd()) …
//   pool.Join();
//
//   the command     failures so far     what is recorded
//   succeeded       any                 Forget, Done
//   failed          < max_requeues      AddRateLimited, Done
//   failed          max_requeues        AddRateLimited, which quarantines the key, Done; the key is
//                                       named on stderr
//   killed by us    any                 nothing: without Done the key stays pending in the store
//   cannot be run   any                 nothing, and all workers stop
//
// The workers end when nothing is queued, processing or delayed (unless options.follow), after
// Stop, or after an error of the store. Nobody polls: the last Done sees that nothing is left and
// stops the queue. Threading: Start, Join and the destructor belong to one thread; the rest is
// thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tools/wqctl/work/runner.h"
#include "tools/wqctl/work/status_line.h"
#include "wq/queue.h"
#include "wq/status.h"

namespace wqctl {

struct WorkerOptions {
  int workers = 1;
  // Quarantine a key at its first failure. QueueOptions::max_requeues, where 0 means never, cannot
  // say that; every other bound is the queue's own business.
  bool no_requeues = false;
  bool follow = false;
};

class WorkerPool {
 public:
  struct Totals {
    uint64_t succeeded = 0;
    uint64_t failed_attempts = 0;
    uint64_t given_up = 0;
    uint64_t killed = 0;  // By us; the keys stay pending.
  };

  WorkerPool(const WorkerOptions& options, const CommandRunner& runner, StatusLine* status_line,
             wq::Queue* queue);
  ~WorkerPool();  // REQUIRES: not started, or joined.
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  void Start();
  void Join();

  // No key is begun any more; commands that run go on. Returns how many those are.
  size_t Stop();
  bool Stopping() const;  // Also by an error.
  bool AllEnded() const { return running_threads_ == 0; }

  // An eventfd that becomes readable when a worker ends or the pool begins to stop.
  int event_fd() const { return event_fd_; }
  void ClearEvent() const;

  Totals totals() const;
  wq::Status error() const;  // What stopped the pool, if it was an error.
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
  std::atomic<uint64_t> given_up_{0};
  std::atomic<uint64_t> killed_{0};
  std::vector<std::thread> threads_;

  mutable std::mutex mu_;
  bool stopping_ = false;  // Under mu_.
  size_t busy_ = 0;        // Under mu_: workers between BeginKey and EndKey.
  wq::Status error_;       // Under mu_: the first one.
};

}  // namespace wqctl
