// Descriptor: a file descriptor that is closed at the end. Thread-compatible.
#pragma once

#include <unistd.h>

#include <string>

namespace wqctl {

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() { Reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  void Reset(int fd = -1) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

// Reads the whole file from its start. False: it cannot be read.
bool ReadWhole(int fd, std::string* text);

}  // namespace wqctl
