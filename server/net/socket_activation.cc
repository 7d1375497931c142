#include "server/net/socket_activation.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace wq {
namespace {

constexpr int kFirstPassed = 3;  // SD_LISTEN_FDS_START.
constexpr int kMaxPassed = 1024;

std::string TakeVariable(const char* name) {
  const char* const value = getenv(name);
  std::string copy = value == nullptr ? "" : value;
  unsetenv(name);
  return copy;
}

bool ParseNumber(std::string_view text, int* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && *number >= 0;
}

int SocketOption(int fd, int name) {
  int value = -1;
  socklen_t size = sizeof(value);
  return getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

}  // namespace

Status TakePassedSockets(std::vector<PassedSocket>* sockets) {
  sockets->clear();
  const std::string pid = TakeVariable("LISTEN_PID");
  const std::string count_text = TakeVariable("LISTEN_FDS");
  std::string names = TakeVariable("LISTEN_FDNAMES");
  int number = 0;
  if (pid.empty() || count_text.empty() || !ParseNumber(pid, &number) || number != getpid()) {
    return {};  // None are passed, or they were passed to a parent process.
  }
  int count = 0;
  if (!ParseNumber(count_text, &count) || count > kMaxPassed) {
    return Status::InvalidArgument("LISTEN_FDS is no number of descriptors: " + count_text);
  }
  const bool named = !names.empty();
  for (int fd = kFirstPassed; fd < kFirstPassed + count; ++fd) {
    const size_t colon = names.find(':');
    std::string name = named ? names.substr(0, colon) : "unknown";
    names = colon == std::string::npos ? "" : names.substr(colon + 1);
    if (SocketOption(fd, SO_TYPE) != SOCK_STREAM || SocketOption(fd, SO_ACCEPTCONN) != 1) {
      sockets->clear();
      return Status::InvalidArgument("descriptor " + std::to_string(fd) + " (" + name +
                                     ") of LISTEN_FDS is no listening stream socket");
    }
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    sockets->push_back({FileDescriptor(fd), std::move(name)});
  }
  return {};
}

}  // namespace wq
