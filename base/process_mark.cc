#include "base/process_mark.h"

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <vector>

#include "base/check.h"

namespace wq {
namespace {

// Never destroyed: a fork may come at any time.
struct Forking {
  std::atomic<uint64_t> forks{0};
  std::mutex mu;
  std::vector<int> fds;  // Under mu.

  static Forking& Get();
};

Forking& Forking::Get() {
  static Forking* const forking = [] {
    auto* made = new Forking;
    // mu is held over the fork, so that the child finds `fds` whole.
    const int error = pthread_atfork([] { Get().mu.lock(); }, [] { Get().mu.unlock(); },
                                     [] {
                                       Forking& forking = Get();
                                       forking.forks.fetch_add(1, std::memory_order_relaxed);
                                       for (const int fd : forking.fds) close(fd);
                                       forking.fds.clear();
                                       forking.mu.unlock();
                                     });
    WQ_CHECK(error == 0, "no memory for a handler of forks");
    return made;
  }();
  return *forking;
}

}  // namespace

uint64_t Forks() { return Forking::Get().forks.load(std::memory_order_relaxed); }

void CloseInChildren(int fd) {
  Forking& forking = Forking::Get();
  const std::lock_guard lock(forking.mu);
  forking.fds.push_back(fd);
}

void ForgetInChildren(int fd) {
  Forking& forking = Forking::Get();
  const std::lock_guard lock(forking.mu);
  std::erase(forking.fds, fd);
}

}  // namespace wq
