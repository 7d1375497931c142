// Executor: threads for calls that may wait for the disk, so that the completion queue's threads
// stay free for the others. A thread is started when none is idle, up to a limit; further jobs
// wait in the order in which they came. Idle threads do not wake up. If the system has no thread
// left and there is none yet, the caller runs the job itself.
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
  explicit Executor(int max_threads) : max_threads_(max_threads) {}
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  void Run(std::function<void()> job);

 private:
  void Loop();

  const int max_threads_;
  Mutex mu_;
  CondVar changed_;
  std::deque<std::function<void()>> jobs_ WQ_GUARDED_BY(mu_);
  size_t idle_ WQ_GUARDED_BY(mu_) = 0;
  bool stopping_ WQ_GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_ WQ_GUARDED_BY(mu_);
};

}  // namespace wq
