// The few things that storage does with files itself, as Status. Internal to storage/.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wq/status.h"

namespace wq {

// Owns a file descriptor; closes it without a look at the outcome.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  bool valid() const { return fd_ >= 0; }
  int get() const { return fd_; }

 private:
  int fd_;
};

// "IOError: <what> <path>: <text of errno>".
Status IOErrorOf(std::string_view what, const std::string& path, int error_number);

// NotFound if it does not exist. A symlink as the last component is not followed: IOError.
Status ReadSmallFile(const std::string& path, size_t max_bytes, std::string* contents);

// Up to `bytes` bytes from `offset`, into `to`; *got is fewer only at the file's end. `path` is for messages.
Status ReadAt(int fd, const std::string& path, uint64_t offset, size_t bytes, char* to,
              size_t* got);

// All of it, at the file's present place. `path` is for messages.
Status WriteAll(int fd, const std::string& path, std::string_view contents);

// Writes `path` anew so that after a crash it is whole or was never there: a temporary file beside
// it, synced, renamed, and the directory synced.
Status WriteFileAtomically(const std::string& dir, const std::string& name,
                           std::string_view contents);

Status SyncDirectory(const std::string& dir);

// The names in `dir` without "." and "..", sorted.
Status ListDirectory(const std::string& dir, std::vector<std::string>* names);

}  // namespace wq
