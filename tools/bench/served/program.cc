#include "tools/bench/served/program.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <sstream>

#include "tools/bench/bench.h"

namespace wq::bench {
namespace {

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A connected socket; -1 if no server listens.
int TryConnect(uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(port);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close(fd);
    return -1;
  }
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

// The servers do not report when they are ready, so this tries for ten seconds.
int ConnectSoon(uint16_t port) {
  for (int i = 0; i < 1000; ++i) {
    if (const int fd = TryConnect(port); fd >= 0) {
      return fd;
    }
    poll(nullptr, 0, 10);
  }
  Require(false, "the server does not accept connections");
  return -1;
}

}  // namespace

uint16_t FreePort() {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  const bool bound = probe >= 0 &&
                     bind(probe, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                     getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  Require(bound, "no free port on loopback");
  close(probe);
  return ntohs(address.sin_port);
}

std::string FindProgram(const std::string& program, const std::string& installed_by) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(std::string(path == nullptr ? "" : path) + ":/usr/bin:/usr/sbin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = folder + "/" + program;
    if (access(file.c_str(), X_OK) == 0) {
      return file;
    }
  }
  Require(false, program + " is not installed; " + installed_by + " installs it");
  return {};
}

Connection::Connection(uint16_t port) : socket_(ConnectSoon(port)) {}
Connection::~Connection() { close(socket_); }

void Connection::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    Require(sent > 0, "the server has closed the connection");
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

std::string Connection::ReadLine() {
  for (;;) {
    if (const size_t end = read_.find("\r\n", at_); end != std::string::npos) {
      std::string line = read_.substr(at_, end - at_);
      at_ = end + 2;
      return line;
    }
    read_.erase(0, at_);
    at_ = 0;
    Receive();
  }
}

std::string Connection::ReadBytes(size_t count) {
  while (read_.size() - at_ < count) {
    Receive();
  }
  at_ += count;
  return read_.substr(at_ - count, count);
}

size_t Connection::Skip() {
  if (at_ == read_.size()) {
    Receive();
  }
  const size_t skipped = read_.size() - at_;
  read_.clear();
  at_ = 0;
  return skipped;
}

void Connection::Receive() {
  std::array<char, 65536> part{};
  const ssize_t got = recv(socket_, part.data(), part.size(), 0);
  Require(got > 0, "the server has closed the connection");
  read_.append(part.data(), static_cast<size_t>(got));
}

}  // namespace wq::bench
