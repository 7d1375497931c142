// SystemCalls: the calls on files that wq's own code makes, not by way of RocksDB, and of which one fails.
//
//   SystemCalls::Arm({.at = 3, .error = EIO});           // The fourth from here on.
//   const Status status = Verify(dir, {}, &report);
//   const std::string failed = SystemCalls::Disarm();    // "pread"; empty: there were fewer.
//
// The linker puts them into the place of the C library's (--wrap, in tests/CMakeLists.txt), in all that is
// linked into this program; RocksDB is a library of its own. Threading: Arm and Disarm from one thread;
// the calls may come from any.
#pragma once

#include <cstdint>
#include <string>

namespace wq::support {

class SystemCalls {
 public:
  struct Fault {
    uint64_t at = UINT64_MAX;  // The number of the call from here on, from 0.
    int error = 0;             // errno.
    // No call fails; but every other one that reads or writes at a file's place is interrupted, and the
    // rest take or give half of what they could.
    bool hindered = false;
  };
  static void Arm(const Fault& fault);
  // No call fails any more. The name of the one that did.
  static std::string Disarm();
  static uint64_t calls();  // Since Arm.
};

}  // namespace wq::support
