#include "base/file_calls.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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

int FileCalls::MakeDirectory(const std::string& path) { return mkdir(path.c_str(), 0700); }

void UseFileCalls(FileCalls* calls) { calls_in_use = calls; }

FileCalls& CurrentFileCalls() {
  static FileCalls machine;
  return calls_in_use == nullptr ? machine : *calls_in_use;
}

}  // namespace wq
