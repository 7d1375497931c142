#include "tests/support/proxy.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

namespace wq::support {
namespace {

constexpr int kTickMs = 10;

// One direction of a connection.
struct Pipe {
  int from = -1;
  int to = -1;
  std::string bytes = {};  // That `to` has not taken.
};

// False: the connection has ended.
bool Move(Pipe* pipe) {
  char buffer[65536];
  if (pipe->bytes.empty()) {
    const ssize_t n = recv(pipe->from, buffer, sizeof(buffer), MSG_DONTWAIT);
    if (n <= 0) {
      return n < 0 && errno == EAGAIN;
    }
    pipe->bytes.assign(buffer, static_cast<size_t>(n));
  }
  const ssize_t n =
      send(pipe->to, pipe->bytes.data(), pipe->bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  pipe->bytes.erase(0, n > 0 ? static_cast<size_t>(n) : 0);
  return n >= 0 || errno == EAGAIN;
}

}  // namespace

Proxy::Proxy(int listener, std::function<int()> connect)
    : listener_(listener), connect_(std::move(connect)), thread_([this] { Run(); }) {}

Proxy::~Proxy() {
  ending_ = true;
  thread_.join();
  close(listener_);
}

void Proxy::Run() {
  std::vector<Pipe> pipes;  // Two for each connection, one after the other.
  const auto end = [&pipes](size_t connection) {
    const auto first = pipes.begin() + static_cast<ptrdiff_t>(connection);
    close(first->from);
    close(first->to);
    pipes.erase(first, first + 2);
  };
  while (!ending_) {
    std::vector<pollfd> polled = {{.fd = listener_, .events = POLLIN, .revents = 0}};
    for (size_t i = 0; i < pipes.size(); ++i) {  // poll ignores a negative descriptor.
      const bool reads = pipes[i].bytes.empty();
      const int fd = cut_[i % 2] ? -1 : reads ? pipes[i].from : pipes[i].to;
      polled.push_back(
          {.fd = fd, .events = static_cast<short>(reads ? POLLIN : POLLOUT), .revents = 0});
    }
    poll(polled.data(), polled.size(), kTickMs);
    const bool breaks = breaking_.exchange(false);
    for (size_t i = pipes.size(); i > 0; i -= 2) {
      bool alive = !breaks;
      for (const size_t at : {i - 2, i - 1}) {
        alive = alive && (polled[1 + at].revents == 0 || cut_[at % 2] || Move(&pipes[at]));
      }
      if (!alive) {
        end(i - 2);
      }
    }
    if (polled[0].revents != 0) {
      const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      const int server = connect_();
      if (client >= 0 && server >= 0) {
        pipes.push_back({.from = client, .to = server});
        pipes.push_back({.from = server, .to = client});
      } else {
        close(client);
        close(server);
      }
    }
  }
  while (!pipes.empty()) {
    end(0);
  }
}

}  // namespace wq::support
