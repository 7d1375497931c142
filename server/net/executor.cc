#include "server/net/executor.h"

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

bool Executor::Run(size_t bytes, std::function<void()> job) {
  {
    const MutexLock lock(mu_);
    if (!jobs_.empty() && waiting_bytes_ + bytes > max_waiting_bytes_) {
      return false;
    }
    if (jobs_.size() >= idle_ && threads_.size() < static_cast<size_t>(max_threads_)) {
      try {
        threads_.emplace_back([this] { Loop(); });
      } catch (const std::system_error&) {
        // The other threads do it.
      }
    }
    if (!threads_.empty()) {
      waiting_bytes_ += bytes;
      jobs_.push_back({bytes, std::move(job)});
      job = nullptr;
    }
  }
  if (job != nullptr) {
    job();
  } else {
    changed_.NotifyOne();
  }
  return true;
}

void Executor::Loop() {
  for (;;) {
    Job job;
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
      waiting_bytes_ -= job.bytes;
    }
    job.run();
  }
}

}  // namespace wq
