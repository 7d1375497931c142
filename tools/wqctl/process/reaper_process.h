// What runs in the processes of reapers.h.
#pragma once

#include <sys/types.h>

namespace wqctl {

// Forks, as fork(2), but the child shares our table of descriptors, and *pid_fd of the parent is a
// pidfd of it. REQUIRES: this process has one thread.
pid_t ForkSharingDescriptors(int* pid_fd);

// Makes reapers on request, until `channel` has no other end or the process `owner`, our parent,
// has ended.
[[noreturn]] void RunReaperMaker(int channel, pid_t owner);

}  // namespace wqctl
