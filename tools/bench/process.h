// Child and FreshDirectory: processes and directories of a benchmark, which are removed at its end,
// also after a failure.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace wq::bench {

// A running program (fork and exec), with its stdout on a pipe. The destructor kills and reaps it
// if that was not done before. Thread-compatible.
class Child {
 public:
  // kOwn: the processes that it starts, and leaves behind if it fails, are killed with it.
  enum class Group { kSame, kOwn };
  Child(const std::string& program, const std::vector<std::string>& arguments,
        Group group = Group::kSame);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  std::string ReadLine();  // The next line; empty at the end. Blocks.
  std::string ReadAll();   // Until the program closes its stdout. Blocks.
  int Wait();              // The exit status, or 128 + the signal that killed it. Blocks.
  void Kill();             // Sends SIGKILL and reaps the process.
  pid_t pid() const { return started_; }

 private:
  void KillGroup() const;

  const Group group_;
  pid_t started_ = -1;
  pid_t pid_ = -1;  // As started_; -1 after the process was reaped.
  int stdout_ = -1;
};

// A new directory in `parent` or, if that is empty, in TMPDIR. The destructor removes it; SIGINT
// and SIGTERM make Child::Wait fail, so that it is called. One object at a time.
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
