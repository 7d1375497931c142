// Executor: threads for calls that may wait for the disk, so that the threads that read requests
// stay free for the others. A thread is started when none is idle, up to a limit; further jobs
// wait in the order in which they came, up to a limit of their bytes. Idle threads do not wake up.
// If the system has no thread left and there is none yet, the caller runs the job itself.
//
// Threading: thread-safe. Lifetime: the destructor runs what was passed to Run, then joins.
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace wq {

class Executor {
 public:
  Executor(int max_threads, size_t max_waiting_bytes)
      : max_threads_(max_threads), max_waiting_bytes_(max_waiting_bytes) {}
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // `bytes`: what the job keeps in memory. False: it is not run, since the jobs that wait have too
  // many bytes.
  [[nodiscard]] bool Run(size_t bytes, std::function<void()> job);

 private:
  struct Job {
    size_t bytes = 0;
    std::function<void()> run;
  };

  void Loop();

  const int max_threads_;
  const size_t max_waiting_bytes_;
  Mutex mu_;
  CondVar changed_;
  std::deque<Job> jobs_ WQ_GUARDED_BY(mu_);
  size_t waiting_bytes_ WQ_GUARDED_BY(mu_) = 0;  // Of jobs_.
  size_t idle_ WQ_GUARDED_BY(mu_) = 0;
  bool stopping_ WQ_GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_ WQ_GUARDED_BY(mu_);
};

}  // namespace wq
