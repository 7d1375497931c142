// Sockets: listening on and connecting to a socket file whose path may be of any length, and
// listening on a TCP address. All descriptors are close-on-exec.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/files.h"
#include "wq/status.h"

namespace wq {

// A file in a directory. The directory is held open, so that it stays the same directory when it is
// renamed.
struct SocketFile {
  FileDescriptor dir{-1};
  std::string name;
  std::string path;  // The path that the user gave, for messages.
};
// NotFound: no such directory.
Status OpenSocketFile(const std::string& dir, const std::string& name, SocketFile* file);

// Listens on the file, mode 0600. Replaces an existing socket. REQUIRES: no process serves that
// socket. AlreadyExists: the file exists and is no socket.
Status ListenOnFile(const SocketFile& file, FileDescriptor* listener);
// NotFound: the file does not exist, or no process listens on it. Blocks: at most 5 s.
Status ConnectToFile(const SocketFile& file, FileDescriptor* connection);
// Identifies the file. 0 if it does not exist or is no socket.
ino_t InodeOf(const SocketFile& file);
void RemoveFile(const SocketFile& file);

// Listens on "HOST:PORT", where HOST is localhost, 127.x.y.z or [::1]; with `any_address` also
// every other IPv4 address, or IPv6 address in brackets. *port is the port that was bound.
// InvalidArgument: any other text.
Status ListenOnTcp(const std::string& text, bool any_address, FileDescriptor* listener, int* port);

// Whether the peer of a unix socket is root or has the effective uid of this process.
bool PeerMayUse(int fd);

// The other end of a connected socket: "unix:PID", "ipv4:127.0.0.1:4711", "ipv6:[::1]:4711".
std::string PeerName(int fd);
// The same of a peer's name, without the port.
std::string PeerAddress(const std::string& name);

}  // namespace wq
