// A served store with the open queue "pods", and a client that sends arbitrary bytes.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/net/socket.h"
#include "tests/support/environment.h"
#include "tests/support/wait.h"
#include "wq/limiter.h"
#include "wq/live_store.h"
#include "wq/queue.h"
#include "wq/server.h"
#include "wq/store.h"

namespace wq {

using Deadline = std::chrono::steady_clock::time_point;

// Waits until the descriptor may be ready; false after the deadline.
inline bool WaitFor(int fd, short events, Deadline deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  pollfd ready = {fd, events, 0};
  return left.count() > 0 && poll(&ready, 1, static_cast<int>(left.count())) != 0;
}
// Waits for bytes and returns the number that was read; 0 at the end of the stream, -1 for an error
// or after the deadline.
inline ssize_t ReceiveSome(int fd, char* to, size_t size, Deadline deadline) {
  for (;;) {
    const ssize_t n = recv(fd, to, size, MSG_DONTWAIT);
    if (n >= 0 || (errno != EINTR && (errno != EAGAIN || !WaitFor(fd, POLLIN, deadline)))) {
      return n;
    }
  }
}
// False for an error or after the deadline. Raises no SIGPIPE.
inline bool SendAll(int fd, std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t n = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else if (errno != EINTR && (errno != EAGAIN || !WaitFor(fd, POLLOUT, deadline))) {
      return false;
    }
  }
  return true;
}

class ServerFixture {
 public:
  ServerFixture() { OpenStore(); }
  ~ServerFixture() {
    server_.reset();
    store_.reset();
  }

  void OpenStore() {
    ASSERT_TRUE(Store::Open({.create_if_missing = true}, store_dir_, &store_).ok());
    // Failed keys are delayed for hours: none becomes due during a test.
    const auto limiter =
        std::make_shared<ItemExponentialFailure>(std::chrono::hours(1), std::chrono::hours(100));
    ASSERT_TRUE(
        store_->OpenQueue("pods", {.order = Order::kPriorities, .limiter = limiter}, &pods_).ok());
  }
  void Serve(const ServerOptions& options = {.control_socket = true,
                                             .http_address = "127.0.0.1:0"}) {
    server_.reset();
    const Status s = Server::Open(store_.get(), options, &server_);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  std::unique_ptr<LiveStore> Connect() const {
    std::unique_ptr<LiveStore> live;
    EXPECT_TRUE(LiveStore::Connect(store_dir_, &live).ok());
    return live;
  }
  std::string socket_path() const { return store_dir_ + "/control.sock"; }
  // A file with a token, that only this user can read.
  std::string Secret(const std::string& name, const std::string& token) const {
    std::string path = dir_ / name;
    std::ofstream(path) << token << "\n";
    EXPECT_EQ(chmod(path.c_str(), 0600), 0);
    return path;
  }

  FileDescriptor ConnectTcp() const { return ConnectTcp(server_->http_port()); }
  static FileDescriptor ConnectTcp(int port) {
    FileDescriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    return fd;
  }
  FileDescriptor ConnectUnix() const {
    SocketFile file;
    FileDescriptor fd(-1);
    EXPECT_TRUE(OpenSocketFile(store_dir_, "control.sock", &file).ok());
    EXPECT_TRUE(ConnectToFile(file, &fd).ok());
    return fd;
  }

  static Deadline Soon() { return support::PatienceEnds(); }
  // Until the other end closes; "TIMEOUT" if it does not.
  static std::string ReadAll(int fd) {
    std::string all;
    char buffer[4096];
    for (;;) {
      const ssize_t n = ReceiveSome(fd, buffer, sizeof(buffer), Soon());
      if (n < 0) {
        return errno == ECONNRESET ? all : all + "TIMEOUT";
      }
      if (n == 0) {
        return all;
      }
      all.append(buffer, static_cast<size_t>(n));
    }
  }
  // The client sends nothing after the request.
  static std::string Say(const FileDescriptor& fd, const std::string& request) {
    SendAll(fd.get(), request, Soon());
    shutdown(fd.get(), SHUT_WR);
    return ReadAll(fd.get());
  }
  std::string Get(const std::string& path,
                  const std::string& headers = "Host: localhost\r\n") const {
    return Say(ConnectTcp(), "GET " + path + " HTTP/1.1\r\n" + headers + "\r\n");
  }
  static std::string PostOf(const std::string& path, const std::string& json,
                            const std::string& headers = "Host: localhost\r\n") {
    return "POST " + path + " HTTP/1.1\r\n" + headers + "Content-Type: application/json\r\n" +
           "Content-Length: " + std::to_string(json.size()) + "\r\n\r\n" + json;
  }
  std::string Post(const std::string& path, const std::string& json) const {
    return Say(ConnectUnix(), PostOf(path, json));
  }

 protected:
  const support::ScratchDirectory dir_;
  std::string store_dir_ = dir_ / "store";
  std::unique_ptr<Store> store_;
  Queue* pods_ = nullptr;
  std::unique_ptr<Server> server_;
};

// The number in the first line of an answer; 0: it has none.
inline int StatusOf(const std::string& answer) {
  return answer.starts_with("HTTP/1.1 ") ? std::atoi(answer.c_str() + 9) : 0;
}

}  // namespace wq
