#include "system_calls.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <mutex>
#include <utility>

namespace wq::support {
namespace {

struct Present {
  std::mutex mu;
  bool armed = false;  // Under mu, as are all below.
  SystemCalls::Fault fault;
  uint64_t calls = 0;
  std::string failed;
};

Present& Now() {
  static Present present;
  return present;
}

// Whether this call fails; then sets errno.
bool Fails(const char* name) {
  Present& now = Now();
  const std::lock_guard lock(now.mu);
  if (!now.armed || now.fault.hindered || now.calls++ != now.fault.at) {
    return false;
  }
  now.failed = name;
  errno = now.fault.error;
  return true;
}

// How many of `bytes` a call may read or write; 0: it is interrupted, with errno set.
size_t Allowed(size_t bytes) {
  Present& now = Now();
  const std::lock_guard lock(now.mu);
  if (!now.armed || !now.fault.hindered) {
    return bytes;
  }
  if (now.calls++ % 2 == 0) {
    errno = EINTR;
    return 0;
  }
  return (bytes + 1) / 2;
}

}  // namespace

void SystemCalls::Arm(const Fault& fault) {
  Present& now = Now();
  const std::lock_guard lock(now.mu);
  now.armed = true;
  now.fault = fault;
  now.calls = 0;
  now.failed.clear();
}

std::string SystemCalls::Disarm() {
  Present& now = Now();
  const std::lock_guard lock(now.mu);
  now.armed = false;
  return std::exchange(now.failed, "");
}

uint64_t SystemCalls::calls() {
  Present& now = Now();
  const std::lock_guard lock(now.mu);
  return now.calls;
}

}  // namespace wq::support

// The names are the linker's. NOLINTBEGIN(bugprone-reserved-identifier)
#define WQ_WRAP(result, name, parameters, arguments, failure)               \
  result __real_##name parameters;                                          \
  result __wrap_##name parameters;                                          \
  result __wrap_##name parameters {                                         \
    return wq::support::Fails(#name) ? (failure) : __real_##name arguments; \
  }

extern "C" {
WQ_WRAP(int, fsync, (int fd), (fd), -1)
WQ_WRAP(int, ftruncate, (int fd, off_t size), (fd, size), -1)
WQ_WRAP(int, flock, (int fd, int what), (fd, what), -1)
WQ_WRAP(int, fstat, (int fd, struct stat* info), (fd, info), -1)
WQ_WRAP(int, stat, (const char* path, struct stat* info), (path, info), -1)
WQ_WRAP(int, lstat, (const char* path, struct stat* info), (path, info), -1)
WQ_WRAP(int, rename, (const char* from, const char* to), (from, to), -1)
WQ_WRAP(int, link, (const char* from, const char* to), (from, to), -1)
WQ_WRAP(int, unlink, (const char* path), (path), -1)
WQ_WRAP(int, rmdir, (const char* path), (path), -1)
WQ_WRAP(int, mkdir, (const char* path, mode_t mode), (path, mode), -1)
WQ_WRAP(int, access, (const char* path, int mode), (path, mode), -1)
WQ_WRAP(int, fstatfs, (int fd, struct statfs* info), (fd, info), -1)
WQ_WRAP(int, madvise, (void* at, size_t size, int advice), (at, size, advice), -1)
WQ_WRAP(int, posix_fallocate, (int fd, off_t at, off_t size), (fd, at, size), errno)
WQ_WRAP(void*, mmap, (void* at, size_t size, int access, int flags, int fd, off_t from),
        (at, size, access, flags, fd, from), MAP_FAILED)
WQ_WRAP(char*, mkdtemp, (char* path), (path), nullptr)
WQ_WRAP(DIR*, opendir, (const char* path), (path), nullptr)
WQ_WRAP(struct dirent*, readdir, (DIR * stream), (stream), nullptr)
WQ_WRAP(ssize_t, pwrite, (int fd, const void* bytes, size_t size, off_t at), (fd, bytes, size, at),
        -1)

int __real_open(const char* path, int flags, ...);
int __wrap_open(const char* path, int flags, ...);
int __wrap_open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return wq::support::Fails("open") ? -1 : __real_open(path, flags, mode);
}

// Locks only.
int __real_fcntl(int fd, int what, ...);
int __wrap_fcntl(int fd, int what, ...);
int __wrap_fcntl(int fd, int what, ...) {
  va_list rest;
  va_start(rest, what);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  return wq::support::Fails("fcntl") ? -1 : __real_fcntl(fd, what, argument);
}

int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...) {
  va_list rest;
  va_start(rest, request);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  return wq::support::Fails("ioctl") ? -1 : __real_ioctl(fd, request, argument);
}

ssize_t __real_read(int fd, void* bytes, size_t size);
ssize_t __wrap_read(int fd, void* bytes, size_t size);
ssize_t __wrap_read(int fd, void* bytes, size_t size) {
  if (wq::support::Fails("read")) {
    return -1;
  }
  const size_t allowed = wq::support::Allowed(size);
  return allowed == 0 && size > 0 ? -1 : __real_read(fd, bytes, allowed);
}

ssize_t __real_pread(int fd, void* bytes, size_t size, off_t at);
ssize_t __wrap_pread(int fd, void* bytes, size_t size, off_t at);
ssize_t __wrap_pread(int fd, void* bytes, size_t size, off_t at) {
  if (wq::support::Fails("pread")) {
    return -1;
  }
  const size_t allowed = wq::support::Allowed(size);
  return allowed == 0 && size > 0 ? -1 : __real_pread(fd, bytes, allowed, at);
}

ssize_t __real_write(int fd, const void* bytes, size_t size);
ssize_t __wrap_write(int fd, const void* bytes, size_t size);
ssize_t __wrap_write(int fd, const void* bytes, size_t size) {
  if (wq::support::Fails("write")) {
    return -1;
  }
  const size_t allowed = wq::support::Allowed(size);
  return allowed == 0 && size > 0 ? -1 : __real_write(fd, bytes, allowed);
}
}
// NOLINTEND(bugprone-reserved-identifier)
