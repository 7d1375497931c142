#include "tools/wqctl/text/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "tools/wqctl/text/log.h"
#include "wq/keys.h"

namespace wqctl {

NewFile::~NewFile() {
  if (fd_ >= 0) close(fd_);
  if (!scratch_.empty()) unlink(scratch_.c_str());
}

wq::Status NewFile::Failed(int error) const {
  return wq::Status::IOError("cannot write " + wq::EscapeKey(path_, 4096) + ": " +
                             ErrnoText(error));
}

wq::Status NewFile::Open(const std::string& path) {
  path_ = path;
  struct stat found = {};
  const bool exists = stat(path.c_str(), &found) == 0;
  if (!exists && errno != ENOENT) return Failed(errno);
  if (exists) {
    if (S_ISDIR(found.st_mode)) return Failed(EISDIR);
    if (!S_ISREG(found.st_mode)) {
      fd_ = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
      return fd_ < 0 ? Failed(errno) : wq::Status::Ok();
    }
    std::error_code error;
    const std::filesystem::path target = std::filesystem::canonical(path, error);
    if (error) return Failed(error.value());
    path_ = target;
  }
  scratch_ = std::filesystem::path(path_).replace_filename(".wqctl-XXXXXX");
  fd_ = mkostemp(scratch_.data(), O_CLOEXEC);
  if (fd_ < 0) scratch_.clear();
  if (fd_ < 0 || (exists && fchmod(fd_, found.st_mode & 0777U) != 0)) return Failed(errno);
  return wq::Status::Ok();
}

wq::Status NewFile::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd_, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else if (errno != EINTR) {
      return Failed(errno);
    }
  }
  return wq::Status::Ok();
}

wq::Status NewFile::Commit() {
  // Some file systems report only here that they are full.
  const bool synced = scratch_.empty() || fsync(fd_) == 0;
  const int sync_error = errno;
  const bool closed = close(std::exchange(fd_, -1)) == 0;
  if (!synced) return Failed(sync_error);
  if (!closed) return Failed(errno);
  if (scratch_.empty()) return wq::Status::Ok();
  if (rename(scratch_.c_str(), path_.c_str()) != 0) return Failed(errno);
  scratch_.clear();
  return wq::Status::Ok();
}

}  // namespace wqctl
