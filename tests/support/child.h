// Child: a program under execution that reports on its standard output, and can be stopped, killed and
// waited for. It is exec'd, not only forked: a fork of a process that had RocksDB open hangs.
//
// Thread-compatible. Killed and reaped at the latest when the object goes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace wq::support {

// Whether a forked child, not exec'd, may allocate. The address sanitizer of g++ 12 does not take its
// allocator's locks at a fork as glibc does: a child waits for ever for one that another thread held.
#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kForkedChildMayAllocate = false;
#else
inline constexpr bool kForkedChildMayAllocate = true;
#endif

class Child {
 public:
  explicit Child(std::vector<std::string> arguments);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Reads more of what it reports, for at most `patience`. False: its output has ended.
  bool Read(std::chrono::microseconds patience);
  // All that was read so far.
  const std::string& output() const { return output_; }
  // What was read so far is of no more use.
  void ForgetOutput() { output_.clear(); }
  // Reads on until its output has `text`; false if the output ends without.
  bool ReadUntil(const std::string& text);
  // Reads the rest, waits for its end. Returns the status of waitpid(2).
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
