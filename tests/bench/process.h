// Processes and directories of a benchmark: both are gone at the end, however it ends.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace wq::bench {

// A program that was started anew (fork and exec), its stdout on a pipe. Killed and reaped at the
// latest when the object goes. Thread-compatible.
class Child {
 public:
  // kOwn: whatever it starts, and leaves behind when it fails, is killed with it.
  enum class Group { kSame, kOwn };
  Child(const std::string& program, const std::vector<std::string>& arguments,
        Group group = Group::kSame);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  std::string ReadLine();  // The next line; empty at the end. Blocks.
  std::string ReadAll();   // Until it closes its stdout. Blocks.
  int Wait();              // Its exit status; 128 + the signal that killed it. Blocks.
  void Kill();             // SIGKILL, and waits until it is gone.

 private:
  void KillGroup() const;

  const Group group_;
  pid_t started_ = -1;
  pid_t pid_ = -1;  // As started_ until it is reaped.
  int stdout_ = -1;
};

// A directory that nobody had before, in `parent` or, if that is empty, in TMPDIR. Removed with the
// object, and when the process is told to end by SIGINT or SIGTERM. One at a time.
class FreshDirectory {
 public:
  explicit FreshDirectory(const std::string& parent);
  ~FreshDirectory();
  FreshDirectory(const FreshDirectory&) = delete;
  FreshDirectory& operator=(const FreshDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace wq::bench
