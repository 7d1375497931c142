#include "server/rpc/executor.h"

#include <system_error>
#include <utility>

namespace wq {

Executor::~Executor() {
  std::vector<std::thread> threads;
  {
    const MutexLock lock(mu_);
    stopping_ = true;
    threads.swap(threads_);
  }
  changed_.NotifyAll();
  for (std::thread& thread : threads) {
    thread.join();
  }
}

void Executor::Run(std::function<void()> job) {
  {
    const MutexLock lock(mu_);
    if (jobs_.size() >= idle_ && threads_.size() < static_cast<size_t>(max_threads_)) {
      try {
        threads_.emplace_back([this] { Loop(); });
      } catch (const std::system_error&) {
        // The other threads do it.
      }
    }
    if (!threads_.empty()) {
      jobs_.push_back(std::move(job));
      job = nullptr;
    }
  }
  if (job != nullptr) {
    job();
  } else {
    changed_.NotifyOne();
  }
}

void Executor::Loop() {
  for (;;) {
    std::function<void()> job;
    {
      const MutexLock lock(mu_);
      while (jobs_.empty()) {
        if (stopping_) {
          return;
        }
        ++idle_;
        changed_.Wait(mu_);
        --idle_;
      }
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
}

}  // namespace wq
