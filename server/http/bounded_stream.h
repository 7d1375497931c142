// BoundedStream: the requests on a socket and their answers, as cpp-httplib reads and writes them.
// Limits the bytes of a request, and the time of both, and checks the lines of its head.
// Threading: thread-compatible.
#pragma once

#include <httplib.h>
#include <poll.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <string>

#include "server/http/request_head.h"
#include "server/net/socket.h"

namespace wq {

class BoundedStream final : public httplib::Stream {
 public:
  BoundedStream(int fd, size_t max_bytes, std::chrono::milliseconds timeout)
      : fd_(fd),
        max_bytes_(max_bytes),
        left_(max_bytes),
        timeout_(timeout),
        read_deadline_(std::chrono::steady_clock::now() + timeout) {}

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }

  ssize_t read(char* to, size_t size) override {
    if (begin_ == end_ && !Fill()) {
      return failed_ ? -1 : 0;
    }
    const size_t n = std::min(size, end_ - begin_);
    std::copy_n(buffer_.data() + begin_, n, to);
    head_.Read({to, n});
    begin_ += n;
    return static_cast<ssize_t>(n);
  }

  ssize_t write(const char* from, size_t size) override {
    return SendAll(fd_, {from, size}, std::chrono::steady_clock::now() + timeout_)
               ? static_cast<ssize_t>(size)
               : -1;
  }

  // Waits for the first byte of the next request. False: the client has closed the connection, or
  // sends nothing.
  bool AwaitNext(std::chrono::milliseconds idle_timeout) {
    left_ = max_bytes_;
    head_ = RequestHead();
    if (begin_ == end_) {
      read_deadline_ = std::chrono::steady_clock::now() + idle_timeout;
      if (!Fill()) {
        return false;
      }
    }
    read_deadline_ = std::chrono::steady_clock::now() + timeout_;
    return true;
  }

  // Of the present request, as far as it was read.
  bool head_is_valid() const { return head_.valid(); }

  // Whether the client has closed its sending side, or this server has shut the connection down.
  bool IsClosing() const {
    pollfd closed = {fd_, POLLRDHUP, 0};
    return poll(&closed, 1, 0) > 0;
  }
  // See HttpWriter::WaitFor.
  bool WaitFor(int other) const {
    for (;;) {
      std::array<pollfd, 2> fds = {pollfd{fd_, POLLRDHUP, 0}, pollfd{other, POLLIN, 0}};
      if (poll(fds.data(), fds.size(), -1) < 0) {
        if (errno != EINTR) {
          return false;
        }
      } else {
        return fds[0].revents == 0;
      }
    }
  }

  void get_remote_ip_and_port(std::string& ip, int& port) const override { ClearAddress(ip, port); }
  void get_local_ip_and_port(std::string& ip, int& port) const override { ClearAddress(ip, port); }
  // Any small number: the library refuses descriptors that select() cannot take, but calls no
  // select() here.
  socket_t socket() const override { return 0; }

 private:
  static void ClearAddress(std::string& ip, int& port) {
    ip.clear();
    port = 0;
  }

  // False at the end of the stream; failed_ is set after an error, the deadline, or the limit of
  // bytes.
  bool Fill() {
    begin_ = end_ = 0;
    const ssize_t n = left_ == 0 ? -1
                                 : ReceiveSome(fd_, buffer_.data(), std::min(buffer_.size(), left_),
                                               read_deadline_);
    failed_ = n < 0;
    if (n <= 0) {
      return false;
    }
    end_ = static_cast<size_t>(n);
    left_ -= end_;
    return true;
  }

  const int fd_;
  const size_t max_bytes_;
  size_t left_;
  const std::chrono::milliseconds timeout_;
  std::chrono::steady_clock::time_point read_deadline_;
  bool failed_ = false;
  RequestHead head_;
  std::array<char, 8192> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace wq
