// Sockets that systemd opened for this process and passes at its start: see sd_listen_fds(3).
#pragma once

#include <string>
#include <vector>

#include "base/files.h"
#include "wq/status.h"

namespace wq {

struct PassedSocket {
  FileDescriptor fd;  // Listens, and is close-on-exec.
  std::string name;   // FileDescriptorName= of the socket unit; "unknown" without names.
};

// Takes the passed sockets, and removes LISTEN_FDS, LISTEN_PID and LISTEN_FDNAMES from the
// environment, so that child processes do not take them. None are passed: *sockets is empty.
// InvalidArgument: LISTEN_FDS is no number, or a descriptor is no listening stream socket.
// REQUIRES: no other thread uses the environment; the first call in the process.
Status TakePassedSockets(std::vector<PassedSocket>* sockets);

}  // namespace wq
