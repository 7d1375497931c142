// MirrorProcess: a mirror that runs, is listened to, and is ended. TreeText: a tree as comparable lines.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace wq {

class MirrorProcess {
 public:
  // exec'd: a fork of a process that has had RocksDB open hangs.
  MirrorProcess(const std::string& source, const std::string& target, const std::string& store,
                const std::vector<std::string>& options);
  ~MirrorProcess();  // Kills it if it still runs.
  MirrorProcess(const MirrorProcess&) = delete;
  MirrorProcess& operator=(const MirrorProcess&) = delete;

  // The next line that begins with `start`, others are skipped; nullopt: none came within `patience`,
  // or it has ended.
  std::optional<std::string> Line(std::string_view start, std::chrono::milliseconds patience);

  bool ended() const { return ended_; }  // As far as Line has noticed.

  void Send(int signal) const;
  // Waits for its end: the exit code, or minus the signal.
  int Wait();
  // SIGKILL and Wait.
  int Kill();

 private:
  pid_t pid_ = -1;
  int out_ = -1;
  std::string unread_;
  bool ended_ = false;
};

// Each path of the tree with its type, mode and contents or link target, sorted; without the mirror's own
// directory.
std::string TreeText(const std::string& root);

}  // namespace wq
