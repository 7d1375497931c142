// File operations with a Status as outcome. Thread-safe. Internal to the library.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wq/status.h"

namespace wq {

// Owns a file descriptor and closes it, ignoring errors of close.
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
  int Release() { return std::exchange(fd_, -1); }  // The caller closes it.

 private:
  int fd_;
};

// "IOError: <what> <path>: <text of errno>".
Status IOErrorOf(std::string_view what, const std::string& path, int error_number);

// The length of the file at `path`, which is not followed if it is a symlink; 0: not known.
uint64_t FileBytes(const std::string& path);

// Opens a file to read it. NotFound if it does not exist. A symlink as the last component is not
// followed, and a FIFO is not waited for. `bytes`, unless null, gets its length.
Status OpenToRead(const std::string& path, wq::FileDescriptor* file, uint64_t* bytes = nullptr);

// Reads at most the first `max_bytes` bytes. NotFound if the file does not exist. A symlink as the
// last component is not followed: IOError.
Status ReadSmallFile(const std::string& path, size_t max_bytes, std::string* contents);

// Reads up to `bytes` bytes from `offset` into `to`; *got is smaller only at the file's end. `path`
// is for messages.
Status ReadAt(int fd, const std::string& path, uint64_t offset, size_t bytes, char* to,
              size_t* got);

// Writes all of `contents` at the file's present offset. `path` is for messages.
Status WriteAll(int fd, const std::string& path, std::string_view contents);

// Copies the first `bytes` bytes of `from` to the present offset of `to`, 1 MiB at a time. IOError
// if `from` is shorter. `check`, unless null, is called before each step; its error ends the copy.
// The paths are for messages. Does not sync.
Status CopyBytes(int from, const std::string& from_path, uint64_t bytes, int to,
                 const std::string& to_path, const std::function<Status()>& check = nullptr);

// Replaces the file `dir`/`name` so that after a crash it is either the old or the new file: writes
// a temporary file beside it, syncs it, renames it, and syncs the directory.
Status WriteFileAtomically(const std::string& dir, const std::string& name,
                           std::string_view contents);

Status SyncDirectory(const std::string& dir);

// The directory of the last component of `path`, which has no slash at its end.
std::string ParentOf(const std::string& path);

// Whether `path` still names the file that is open as `fd`. False if `path` is a symlink: it is not
// followed.
bool IsStillAt(int fd, const std::string& path);

// The names in `dir` without "." and "..", sorted.
Status ListDirectory(const std::string& dir, std::vector<std::string>* names);

struct NumberedFile {
  uint64_t number = 0;
  std::string name;
};
// The files in `dir` whose names are `prefix`, a decimal number and `suffix`, by number.
Status ListNumbered(const std::string& dir, std::string_view prefix, std::string_view suffix,
                    std::vector<NumberedFile>* files);

}  // namespace wq
