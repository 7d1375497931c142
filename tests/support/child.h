// Child: a running program that reports on its standard output, and can be stopped, killed and
// waited for. It is exec'd, not only forked: a fork of a process that had RocksDB open hangs.
//
// Thread-compatible. The destructor kills and reaps the process if Wait has not.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace wq::support {

// Whether a forked child, not exec'd, may allocate. The address sanitizer of g++ 12 does not take
// its allocator's locks at a fork, as glibc does: a child waits indefinitely for a lock that
// another thread held.
#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kForkedChildMayAllocate = false;
#else
inline constexpr bool kForkedChildMayAllocate = true;
#endif

// The path of the program `name` in the directory of the running one.
std::string ProgramBesideThis(const std::string& name);

class Child {
 public:
  explicit Child(std::vector<std::string> arguments);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Waits for more output, for at most `patience`, and reads it. False: the output has ended.
  bool Read(std::chrono::microseconds patience);
  // The output that was read and not forgotten.
  const std::string& output() const { return output_; }
  void ForgetOutput() { output_.clear(); }
  // Reads until the output has `text`; false if the output ends without it.
  bool ReadUntil(const std::string& text);
  // Reads the rest of the output and waits for the process. Returns the status of waitpid(2).
  int Wait();
  void Signal(int signal) const;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int out_ = -1;
  int wait_status_ = 0;
  bool reaped_ = false;
  std::string output_;
};

}  // namespace wq::support
