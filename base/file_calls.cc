#include "base/file_calls.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace wq {
namespace {

FileCalls* calls_in_use = nullptr;

}  // namespace

int FileCalls::Open(const std::string& path, int flags) { return open(path.c_str(), flags, 0600); }

ssize_t FileCalls::Write(int fd, const std::string& /*path*/, std::string_view bytes) {
  return write(fd, bytes.data(), bytes.size());
}

int FileCalls::Sync(int fd, const std::string& /*path*/) { return fsync(fd); }

int FileCalls::Rename(const std::string& from, const std::string& to) {
  return rename(from.c_str(), to.c_str());
}

int FileCalls::Remove(const std::string& path) { return unlink(path.c_str()); }

int FileCalls::MakeDirectory(const std::string& path) { return mkdir(path.c_str(), 0700); }

int FileCalls::Allocate(int fd, const std::string& /*path*/, uint64_t bytes) {
  do {
    errno = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  } while (errno == EINTR);
  return errno == 0 ? 0 : -1;
}

int FileCalls::FileSystemType(int fd, const std::string& /*path*/, uint64_t* type) {
  struct statfs info = {};
  const int result = fstatfs(fd, &info);
  *type = static_cast<uint64_t>(info.f_type);
  return result;
}

int FileCalls::Control(int fd, const std::string& /*path*/, unsigned long request,
                       uintptr_t argument) {
  return ioctl(fd, request, argument);
}

void* FileCalls::Map(int fd, const std::string& /*path*/, uint64_t bytes) {
  void* const mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return mapping == MAP_FAILED ? nullptr : mapping;
}

void FileCalls::Unmap(void* mapping, uint64_t bytes) { munmap(mapping, bytes); }

void UseFileCalls(FileCalls* calls) { calls_in_use = calls; }

FileCalls& CurrentFileCalls() {
  static FileCalls machine;
  return calls_in_use == nullptr ? machine : *calls_in_use;
}

}  // namespace wq
