// A directory tree by relative paths: bytes, "." for its root, "a/b" below it. No call here follows
// a symbolic link, and no path leads out of the tree that it is opened in.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "wq/status.h"

namespace mirror {

// An open file, which its destructor closes. -1: none, and errno has the error.
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

// The directory in the target's root where new files are written before they get their name, and
// where directories are moved for removal. It is mirrored from neither side.
inline constexpr std::string_view kStaging = ".wq-mirror";

// Checks whether `path` is mirrored: it is ".", or a relative path outside of the staging
// directory, without NUL and without the names "", "." and "..".
bool IsMirrored(std::string_view path);

std::string Join(std::string_view directory, std::string_view name);
// Returns the directory of a path other than ".", and the name in it.
std::pair<std::string, std::string> Split(std::string_view path);

// Checks whether the errno means that a part of the path was removed or has another type now:
// another reconcile, of the present state, replaces the error.
bool HasVanished(int error);
// Makes an error from errno.
wq::Status IoError(std::string_view what, std::string_view path);
// Makes an error from errno: NotFound if HasVanished, otherwise IOError.
wq::Status ErrnoStatus(std::string_view what, std::string_view path);

Fd OpenDirectory(int root, std::string_view path);
// Checks whether both are open, and are the same directory.
bool IsSameDirectory(const Fd& a, const Fd& b);

// Files, directories and symbolic links are mirrored; devices, sockets and pipes count as missing.
bool IsKind(mode_t mode);
// Lists a directory. False: errno has the error.
using Entries = std::map<std::string, struct stat>;
bool List(int directory, Entries* entries);

// --- Paths as objects of a wq::Source ---

// Reads the clock from which the kernel takes the ctime of a change to a local file system; a
// change after this call gets no earlier ctime. (Finer clocks run ahead of it.)
int64_t FileTime();
// The version of a path whose `st` was read after FileTime was `before`. Every change gives
// another one. Empty: a further change could get the same ctime. A directory's version has no
// times: the names in it are objects of their own.
std::string Version(const struct stat& st, int64_t before);
// The name of the path's object: the path, or if it is too long, its beginning and a hash.
std::string ObjectOf(const std::string& path);

}  // namespace mirror
