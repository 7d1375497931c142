#include "bindings/c/boundary/readiness.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace wq::c {
namespace {

Status SystemError(const char* what) {
  return Status::IOError(std::string(what) + ": " + std::strerror(errno));
}

}  // namespace

void Readiness::Close() {
  const MutexLock lock(mu_);
  listener_.reset();  // Blocks until no Notify is under way.
  if (fd_ >= 0) {
    ::close(std::exchange(fd_, -1));
  }
}

void Readiness::Notify() noexcept {
  if (!requested_.load(std::memory_order_relaxed) || !requested_.exchange(false)) {
    return;
  }
  const int saved = errno;
  const uint64_t one = 1;
  // It can fail only if the counter is at its limit; then the descriptor is readable.
  const ssize_t ignored = ::write(fd_, &one, sizeof one);
  static_cast<void>(ignored);
  errno = saved;
}

Status Readiness::NewDescriptor(Queue* queue, int* fd) {
  const MutexLock lock(mu_);
  if (fd_ < 0) {
    fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd_ < 0) {
      return SystemError("eventfd");
    }
  }
  if (listener_ == nullptr) {
    listener_ = queue->ListenReady([this] { Notify(); });
  }
  const int copy = ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) {
    return SystemError("fcntl(F_DUPFD_CLOEXEC)");
  }
  *fd = copy;
  return {};
}

}  // namespace wq::c
