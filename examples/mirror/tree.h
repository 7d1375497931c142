// A directory tree by relative paths: bytes, "." for its top, "a/b" for what is below. No call here
// follows a symbolic link, and no path leads out of the tree that it is opened in.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "wq/status.h"

namespace mirror {

// An open file; closed with it. -1: none, and errno says why.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() {
    if (fd_ >= 0) {
      close(fd_);
    }
  }
  bool ok() const { return fd_ >= 0; }
  int get() const { return fd_; }

 private:
  int fd_;
};

// The directory at the top of the target where new files are written before they get their name, and
// where removed directories go. Neither side's is mirrored.
inline constexpr std::string_view kStaging = ".wq-mirror";

// Whether `path` is a relative path without "", "." and "..", and is to be mirrored; "." is.
bool IsMirrored(std::string_view path);

std::string Join(std::string_view directory, std::string_view name);
// The directory of a path other than ".", and the name in it.
std::pair<std::string, std::string> Split(std::string_view path);

// Whether errno says that something on the way is gone or has become something else: a look at the
// present state tells more than the error does.
bool HasVanished(int error);
// From errno.
wq::Status IoError(std::string_view what, std::string_view path);
// NotFound if HasVanished, otherwise IOError.
wq::Status ErrnoStatus(std::string_view what, std::string_view path);

Fd OpenDirectory(int root, std::string_view path);
// Whether both are open, and one and the same.
bool IsSameDirectory(const Fd& a, const Fd& b);

// Files, directories and symbolic links are mirrored; devices, sockets and pipes do not count as there.
bool IsKind(mode_t mode);
// What is in a directory. False: errno says why.
using Entries = std::map<std::string, struct stat>;
bool List(int directory, Entries* entries);

}  // namespace mirror
