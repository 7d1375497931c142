#include "bindings/c/boundary/fork.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mutex>
#include <new>

namespace wq::c {
namespace {

char* page = nullptr;  // Constant once fork_mark is set.

void MarkChild() { *page = 0; }

}  // namespace

std::atomic<const volatile char*> fork_mark{nullptr};

void WatchForks() {
  static std::once_flag once;
  std::call_once(once, [] {
    const auto size = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    void* const mapped =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
      throw std::bad_alloc();
    }
    page = static_cast<char*>(mapped);
    *page = 1;
    // A kernel without MADV_WIPEONFORK: fork() is noticed, a bare clone() is not.
    if (::madvise(mapped, size, MADV_WIPEONFORK) != 0) {
      ::pthread_atfork(nullptr, nullptr, MarkChild);
    }
    fork_mark.store(page, std::memory_order_release);
  });
}

}  // namespace wq::c
