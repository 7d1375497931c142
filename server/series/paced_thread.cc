#include "server/series/paced_thread.h"

#include <chrono>
#include <string>
#include <system_error>

namespace wq {

Status PacedThread::Start() {
  subscription_ = clock_->Subscribe([this] {
    const MutexLock lock(mu_);
    changed_.NotifyAll();
  });
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error& e) {
    return Status::IOError(std::string("no thread: ") + e.what());
  }
  return {};
}

void PacedThread::Wake() {
  const MutexLock lock(mu_);
  woken_ = true;
  changed_.NotifyAll();
}

void PacedThread::Close() {
  {
    const MutexLock lock(mu_);
    closing_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) {
    thread_.join();
  }
  if (subscription_) {
    clock_->Unsubscribe(*subscription_);
    subscription_.reset();
  }
}

void PacedThread::Run() {
  std::optional<int64_t> due_us;
  for (;;) {
    {
      const MutexLock lock(mu_);
      while (!closing_ && !woken_) {
        if (!due_us) {
          changed_.Wait(mu_);
          continue;
        }
        const int64_t left_us = *due_us - clock_->SteadyUs();
        if (left_us <= 0) {
          break;
        }
        changed_.WaitUntil(mu_,
                           std::chrono::steady_clock::now() + std::chrono::microseconds(left_us));
      }
      if (closing_) {
        return;
      }
      woken_ = false;
    }
    due_us = work_();
  }
}

}  // namespace wq
