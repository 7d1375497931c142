// MirrorProcess: starts a mirror, reads its output, and ends it. TreeText: a tree as comparable
// lines.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace wq {

class MirrorProcess {
 public:
  // Forks and execs: a fork of a process that has opened RocksDB hangs.
  MirrorProcess(const std::string& source, const std::string& target, const std::string& store,
                const std::vector<std::string>& options);
  ~MirrorProcess();  // Kills it if it still runs.
  MirrorProcess(const MirrorProcess&) = delete;
  MirrorProcess& operator=(const MirrorProcess&) = delete;

  // Returns the next line that begins with `start`, and skips others; nullopt: no such line within
  // `patience`, or the mirror has ended.
  std::optional<std::string> Line(std::string_view start, std::chrono::milliseconds patience);

  bool ended() const { return ended_; }  // Set by Line.

  void Send(int signal) const;
  // Waits for its end; returns the exit code, or minus the signal.
  int Wait();
  // Sends SIGKILL, and waits.
  int Kill();

 private:
  pid_t pid_ = -1;
  int out_ = -1;
  std::string unread_;
  bool ended_ = false;
};

// Returns each path of the tree with its type, mode and contents or link target, sorted; without
// the mirror's own directory.
std::string TreeText(const std::string& root);

}  // namespace wq
