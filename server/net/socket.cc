#include "server/net/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

namespace wq {
namespace {

constexpr int kBacklog = 1024;  // Many workers connect at once when a server restarts.
constexpr time_t kConnectSeconds = 5;

FileDescriptor NewSocket(int family) {
  return FileDescriptor(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// A path through the open directory: short, however long the directory's name is. (A socket's
// address holds 107 bytes.)
Status AddressOf(const SocketFile& file, sockaddr_un* address) {
  *address = {};
  address->sun_family = AF_UNIX;
  const std::string path = "/proc/self/fd/" + std::to_string(file.dir.get()) + "/" + file.name;
  if (path.size() >= sizeof(address->sun_path)) {
    return Status::InvalidArgument("the socket's name is too long: " + file.name);
  }
  path.copy(address->sun_path, path.size());
  return Status::Ok();
}

const sockaddr* Generic(const void* address) { return static_cast<const sockaddr*>(address); }

// "127.0.0.1:80", "localhost:0", "[::1]:9464".
bool ParseAddress(const std::string& text, sockaddr_storage* address, socklen_t* size) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) {
    return false;
  }
  uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, port);
  if (error != std::errc() || stop != end) {
    return false;
  }
  const std::string host = text.substr(0, colon);
  *address = {};
  if (host.starts_with('[') && host.ends_with(']')) {
    auto* const ip6 = reinterpret_cast<sockaddr_in6*>(address);
    ip6->sin6_family = AF_INET6;
    ip6->sin6_port = htons(port);
    *size = sizeof(*ip6);
    const std::string number = host.substr(1, host.size() - 2);
    return inet_pton(AF_INET6, number.c_str(), &ip6->sin6_addr) == 1;
  }
  auto* const ip4 = reinterpret_cast<sockaddr_in*>(address);
  ip4->sin_family = AF_INET;
  ip4->sin_port = htons(port);
  *size = sizeof(*ip4);
  const std::string number = host == "localhost" ? "127.0.0.1" : host;
  return inet_pton(AF_INET, number.c_str(), &ip4->sin_addr) == 1;
}

bool IsLoopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET6) {
    const in6_addr& ip6 = reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(&ip6) != 0;
  }
  return ntohl(reinterpret_cast<const sockaddr_in*>(&address)->sin_addr.s_addr) >> 24 == 127;
}

int PortOf(const sockaddr_storage& address) {
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

}  // namespace

Status OpenSocketFile(const std::string& dir, const std::string& name, SocketFile* file) {
  file->dir = FileDescriptor(open(dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  file->name = name;
  file->path = dir + "/" + name;
  if (!file->dir.valid()) {
    return errno == ENOENT || errno == ENOTDIR ? Status::NotFound("there is no directory " + dir)
                                               : IOErrorOf("cannot open", dir, errno);
  }
  return Status::Ok();
}

Status ListenOnFile(const SocketFile& file, FileDescriptor* listener) {
  struct stat info;
  if (fstatat(file.dir.get(), file.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
    if (!S_ISSOCK(info.st_mode)) {
      return Status::AlreadyExists(file.path + " exists and is no socket");
    }
    RemoveFile(file);
  }
  sockaddr_un address;
  if (Status s = AddressOf(file, &address); !s.ok()) {
    return s;
  }
  *listener = NewSocket(AF_UNIX);
  // The mode of an unbound socket is that of the file that bind creates, less the umask: so the
  // file is at no time open to other users.
  if (!listener->valid() || fchmod(listener->get(), 0600) != 0 ||
      bind(listener->get(), Generic(&address), sizeof(address)) != 0 ||
      listen(listener->get(), kBacklog) != 0) {
    return IOErrorOf("cannot serve", file.path, errno);
  }
  return Status::Ok();
}

Status ConnectToFile(const SocketFile& file, FileDescriptor* connection) {
  sockaddr_un address;
  if (Status s = AddressOf(file, &address); !s.ok()) {
    return s;
  }
  // Blocking, so that connect waits while the owner's backlog is full.
  *connection = FileDescriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval timeout = {.tv_sec = kConnectSeconds, .tv_usec = 0};
  if (!connection->valid() ||
      setsockopt(connection->get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) != 0) {
    return IOErrorOf("cannot make a socket for", file.path, errno);
  }
  if (connect(connection->get(), Generic(&address), sizeof(address)) == 0) {
    return Status::Ok();
  }
  const bool unserved = errno == ENOENT || errno == ECONNREFUSED;
  return unserved ? Status::NotFound("no process serves " + file.path)
                  : IOErrorOf("cannot connect to", file.path, errno);
}

ino_t InodeOf(const SocketFile& file) {
  struct stat info;
  const bool found = fstatat(file.dir.get(), file.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
                     S_ISSOCK(info.st_mode);
  return found ? info.st_ino : 0;
}

void RemoveFile(const SocketFile& file) { unlinkat(file.dir.get(), file.name.c_str(), 0); }

Status ListenOnTcp(const std::string& text, bool any_address, FileDescriptor* listener, int* port) {
  sockaddr_storage address;
  socklen_t size = 0;
  const bool valid = ParseAddress(text, &address, &size);
  if (any_address && !valid) {
    return Status::InvalidArgument("\"" + text +
                                   "\" is no address: it must be an IPv4 address, [IPv6] or "
                                   "localhost, and a port up to 65535");
  }
  if (!valid || (!any_address && !IsLoopback(address))) {
    return Status::InvalidArgument("\"" + text +
                                   "\" is no address of this machine alone: it must be localhost, "
                                   "127.x.y.z or [::1], and a port up to 65535");
  }
  *listener = NewSocket(address.ss_family);
  const int on = 1;  // Closed connections in TIME_WAIT must not prevent a restart.
  if (!listener->valid() ||
      setsockopt(listener->get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      bind(listener->get(), Generic(&address), size) != 0 ||
      listen(listener->get(), kBacklog) != 0 ||
      getsockname(listener->get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return IOErrorOf("cannot listen on", text, errno);
  }
  *port = PortOf(address);
  return Status::Ok();
}

bool PeerMayUse(int fd) {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == 0 || peer.uid == geteuid());
}

std::string PeerName(int fd) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return "unknown";
  }
  std::array<char, INET6_ADDRSTRLEN> text = {};
  if (address.ss_family == AF_INET) {
    const auto& ip4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &ip4.sin_addr, text.data(), text.size());
    return "ipv4:" + std::string(text.data()) + ":" + std::to_string(ntohs(ip4.sin_port));
  }
  if (address.ss_family == AF_INET6) {
    const auto& ip6 = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &ip6.sin6_addr, text.data(), text.size());
    return "ipv6:[" + std::string(text.data()) + "]:" + std::to_string(ntohs(ip6.sin6_port));
  }
  ucred peer = {};
  size = sizeof(peer);
  getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
  return "unix:" + std::to_string(peer.pid);
}

std::string PeerAddress(const std::string& name) {
  return name.starts_with("unix") ? name : name.substr(0, name.rfind(':'));
}

}  // namespace wq
