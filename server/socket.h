// Sockets as Status: how the server listens, how both sides reach a socket file whatever its path's
// length, and reads and writes that end at a deadline. All descriptors are close-on-exec.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "wq/status.h"

namespace wq {

// Owns a descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { Reset(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      Reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void Reset();

 private:
  int fd_ = -1;
};

// A file in a directory that is held open, so that it is the same directory for ever.
struct SocketFile {
  Descriptor dir;
  std::string name;
  std::string path;  // As the user knows it.
};
// NotFound: no such directory.
Status OpenSocketFile(const std::string& dir, const std::string& name, SocketFile* file);

// Listens on the file, mode 0600. A socket that is there is replaced: REQUIRES that its owner is known to
// be gone. AlreadyExists: there is something else of that name.
Status ListenOnFile(const SocketFile& file, Descriptor* listener);
// NotFound: nobody listens there.
Status ConnectToFile(const SocketFile& file, Descriptor* connection);
// Which file it is, to see whether it is still the same: 0 if it is missing or no socket.
ino_t InodeOf(const SocketFile& file);
void RemoveFile(const SocketFile& file);

// Listens on "HOST:PORT", HOST being localhost, 127.x.y.z or [::1]; tells the port.
// InvalidArgument: anything else.
Status ListenOnLoopback(const std::string& text, Descriptor* listener, int* port);

// Whether the other end of a unix socket is root, or who we are.
bool PeerMayUse(int fd);

using Deadline = std::chrono::steady_clock::time_point;
// The bytes that are there, at least one; 0 at the end of the stream, -1 for an error or in lack of time.
ssize_t ReceiveSome(int fd, char* to, size_t size, Deadline deadline);
// Raises no SIGPIPE.
bool SendAll(int fd, std::string_view bytes, Deadline deadline);

}  // namespace wq
