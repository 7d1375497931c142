#include "base/process_mark.h"

#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/check.h"
#include "base/mutex.h"

namespace wq {
namespace {

struct Forking {
  std::atomic<uint64_t> forks{0};
  std::atomic<bool> skip_destructors{false};
  Mutex mu;
  std::vector<int> fds WQ_GUARDED_BY(mu);

  static Forking& Get();
};

void EndChild(int status, void*) {
  fflush(nullptr);
  _exit(status);
}

// `mu` is held over the fork, so that the child finds `fds` complete.
void BeforeFork() WQ_UNCHECKED { Forking::Get().mu.Lock(); }
void AfterForkInParent() WQ_UNCHECKED { Forking::Get().mu.Unlock(); }
void AfterForkInChild() WQ_UNCHECKED {
  Forking& forking = Forking::Get();
  forking.forks.fetch_add(1, std::memory_order_relaxed);
  for (const int fd : forking.fds) close(fd);
  forking.fds.clear();
  // Of the functions that exit calls, the last one that was registered is called first. In a child
  // of this child a second registration has no effect.
  if (forking.skip_destructors) on_exit(EndChild, nullptr);
  forking.mu.Unlock();
}

// Never destroyed: the process may fork at any time.
Forking& Forking::Get() {
  static Forking* const forking = [] {
    auto* made = new Forking;
    const int error = pthread_atfork(BeforeFork, AfterForkInParent, AfterForkInChild);
    WQ_CHECK(error == 0, "no memory for a handler of forks");
    return made;
  }();
  return *forking;
}

}  // namespace

uint64_t Forks() { return Forking::Get().forks.load(std::memory_order_relaxed); }

void CloseInChildren(int fd) {
  Forking& forking = Forking::Get();
  const MutexLock lock(forking.mu);
  forking.fds.push_back(fd);
}

void ForgetInChildren(int fd) {
  Forking& forking = Forking::Get();
  const MutexLock lock(forking.mu);
  std::erase(forking.fds, fd);
}

void SkipDestructorsInChildren() { Forking::Get().skip_destructors = true; }

}  // namespace wq
