#include "server/net/systemd_notify.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <ctime>

#include "base/files.h"

namespace wq {

std::string NotifyReloading() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return "RELOADING=1\nMONOTONIC_USEC=" +
         std::to_string(int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000);
}

Status Notify(std::string_view lines) {
  const char* const variable = getenv("NOTIFY_SOCKET");
  if (variable == nullptr || *variable == '\0') {
    return {};
  }
  const std::string path = variable;
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  if ((path[0] != '/' && path[0] != '@') || path.size() >= sizeof(address.sun_path)) {
    return Status::InvalidArgument("NOTIFY_SOCKET is no address of a unix socket: " + path);
  }
  path.copy(address.sun_path, path.size());
  if (path[0] == '@') {
    address.sun_path[0] = '\0';  // An abstract address: as long as the name, without an end.
  }
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() +
                                           (path[0] == '/' ? 1 : 0));
  const FileDescriptor fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd.valid() || sendto(fd.get(), lines.data(), lines.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                            reinterpret_cast<const sockaddr*>(&address), size) < 0) {
    return IOErrorOf("cannot notify", path, errno);
  }
  return {};
}

}  // namespace wq
