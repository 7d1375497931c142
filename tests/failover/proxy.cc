#include "tests/failover/proxy.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

namespace wq::failover {
namespace {

constexpr int kTickMs = 10;  // A change of the cuts takes effect within it.

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// One direction of a connection.
struct Pipe {
  int from = -1;
  int to = -1;
  int way = 0;
};

// False: the connection has ended.
bool Forward(const Pipe& pipe) {
  char buffer[65536];
  const ssize_t n = read(pipe.from, buffer, sizeof buffer);
  for (ssize_t written = 0; written < n;) {
    const ssize_t w =
        send(pipe.to, buffer + written, static_cast<size_t>(n - written), MSG_NOSIGNAL);
    if (w <= 0) return false;
    written += w;
  }
  return n > 0;
}

}  // namespace

Proxy::Proxy(const std::string& server)
    : server_port_(std::atoi(server.substr(server.rfind(':') + 1).c_str())) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t length = sizeof address;
  if (listener_ < 0 || bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      listen(listener_, 16) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    std::abort();
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Run(); });
}

Proxy::~Proxy() {
  stop_ = true;
  thread_.join();
  close(listener_);
}

void Proxy::Run() {
  std::vector<Pipe> pipes;  // Two for each connection, one after the other.
  while (!stop_) {
    std::vector<pollfd> fds = {{.fd = listener_, .events = POLLIN, .revents = 0}};
    for (const Pipe& pipe : pipes) {
      // poll ignores a negative descriptor.
      fds.push_back({.fd = cut_[pipe.way] ? -1 : pipe.from, .events = POLLIN, .revents = 0});
    }
    if (poll(fds.data(), fds.size(), kTickMs) <= 0) {
      continue;
    }
    for (size_t i = pipes.size() / 2; i-- > 0;) {
      bool alive = true;
      for (size_t way = 0; way < 2 && alive; ++way) {
        const Pipe& pipe = pipes[2 * i + way];
        alive = fds[1 + 2 * i + way].revents == 0 || cut_[pipe.way] || Forward(pipe);
      }
      if (!alive) {
        close(pipes[2 * i].from);
        close(pipes[2 * i].to);
        pipes.erase(pipes.begin() + static_cast<ptrdiff_t>(2 * i),
                    pipes.begin() + static_cast<ptrdiff_t>(2 * i + 2));
      }
    }
    if (fds[0].revents != 0) {
      const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      const sockaddr_in address = Loopback(server_port_);
      if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        close(client);
        close(server);
        continue;
      }
      pipes.push_back({.from = client, .to = server, .way = 0});
      pipes.push_back({.from = server, .to = client, .way = 1});
    }
  }
  for (size_t i = 0; i < pipes.size(); i += 2) {
    close(pipes[i].from);
    close(pipes[i].to);
  }
}

}  // namespace wq::failover
