#include "bindings/c/border/ready.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "bindings/c/border/border.h"

namespace wq::c {
namespace {

Status SystemError(const char* what) {
  return Status::IOError(std::string(what) + ": " + std::strerror(errno));
}

}  // namespace

Ready::~Ready() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

void Ready::TellNow() noexcept {
  if (callback_ != nullptr) {
    const CallbackScope scope;
    callback_(arg_);
  }
  if (const int fd = fd_.load(); fd >= 0) {
    const int saved = errno;
    const uint64_t one = 1;
    // It can only fail where the counter is full: then the descriptor is readable.
    const ssize_t ignored = ::write(fd, &one, sizeof one);
    static_cast<void>(ignored);
    errno = saved;
  }
}

Status Ready::Descriptor(int* fd) {
  const std::lock_guard lock(mu_);
  if (fd_ < 0) {
    const int made = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (made < 0) {
      return SystemError("eventfd");
    }
    fd_ = made;
  }
  const int copy = ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) {
    return SystemError("fcntl(F_DUPFD_CLOEXEC)");
  }
  *fd = copy;
  return {};
}

}  // namespace wq::c
