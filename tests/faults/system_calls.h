// SystemCalls: makes one of the calls on files fail that wq's own code makes, not RocksDB.
//
//   SystemCalls::Arm({.at = 3, .error = EIO});           // The fourth call from here on.
//   const Status status = Verify(dir, {}, &report);
//   const std::string failed = SystemCalls::Disarm();    // "pread"; empty: fewer calls were made.
//
// The linker replaces the functions of the C library (--wrap, in tests/CMakeLists.txt) in all
// objects of this program; RocksDB is a shared library, so its calls are not replaced. Threading:
// Arm and Disarm by one thread; the calls by any.
#pragma once

#include <cstdint>
#include <string>

namespace wq::support {

class SystemCalls {
 public:
  struct Fault {
    uint64_t at = UINT64_MAX;  // The failing call, counted from Arm on, from 0.
    int error = 0;             // errno.
    // No call fails. Instead every other read, pread and write is interrupted, and the others
    // transfer half of their bytes.
    bool hindered = false;
  };
  static void Arm(const Fault& fault);
  // From now on no call fails. Returns the name of the call that failed.
  static std::string Disarm();
  static uint64_t calls();  // Since Arm.
};

}  // namespace wq::support
