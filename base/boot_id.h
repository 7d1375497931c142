// BootId: which boot of which machine this is. Thread-safe.
#pragma once

#include <string>

namespace wq {

// The kernel's random id of this boot (/proc/sys/kernel/random/boot_id), without the newline; empty
// if it cannot be read. Two processes that read the same id run on a machine that has not lost its
// power in between. Blocks: reads a file of procfs.
std::string BootId();

}  // namespace wq
