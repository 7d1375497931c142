// CommandRunner: runs the user's command for one job and waits for its end.
//
//   std::unique_ptr<CommandRunner> runner;
//   int error = CommandRunner::Create(options, &reaper, &runner);   // ENOENT: no such command
//   JobOutput output(&printer, job.key);
//   CommandResult result = runner->Run(job, &output);         // blocks until it has ended
//
// A reaper watches over the commands (reaper.h). The stdin of a command is empty or holds the key,
// its stdout is ours or `output`, and its stderr is `output`. Its environment has WQ_KEY, WQ_QUEUE,
// WQ_ATTEMPT, WQ_TOKEN, and if the key has any WQ_REASONS and TRACEPARENT. Thread-safe.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/mutex.h"
#include "tools/wqctl/process/reaper.h"
#include "tools/wqctl/process/spawn.h"
#include "tools/wqctl/work/command_line.h"
#include "tools/wqctl/work/output.h"
#include "tools/wqctl/work/work_queue.h"

namespace wqctl {

struct CommandOptions {
  std::vector<std::string> command;      // See CommandLine.
  bool key_on_stdin = false;             // Its bytes alone; then it is not appended.
  bool pass_stdout = true;               // The command has our stdout.
  std::chrono::microseconds timeout{0};  // 0 is none.
  sigset_t signal_mask = {};             // Of the command.
  mode_t umask = 0;                      // Of the command.
};

struct CommandResult {
  enum class Kind : uint8_t {
    kSucceeded,
    kFailed,
    kCannotRun,    // No key's command can be started: the program is missing or not executable, the
                   // environment leaves no room for arguments, or kNoResources does not end.
    kKilled,       // By KillAll.
    kNoResources,  // Not started: out of descriptors, processes or memory. Nothing was printed.
  };
  Kind kind = Kind::kSucceeded;
  // The last line of its stderr and how it ended: "no route [exit status 1]". Empty for success.
  std::string error;
  bool timed_out = false;
  std::chrono::microseconds ran_for{0};
};

class CommandRunner {
 public:
  // REQUIRES: options.command is not empty.
  // Returns 0, or an errno: ENOENT, EACCES for a program that cannot be run.
  // `reaper` must outlive the runner.
  static int Create(CommandOptions options, Reaper* reaper, std::unique_ptr<CommandRunner>* runner);
  CommandRunner(const CommandRunner&) = delete;
  CommandRunner& operator=(const CommandRunner&) = delete;

  CommandResult Run(const Job& job, JobOutput* output) const;

  // Kills all running commands with all that they have started, and every later one.
  void KillAll() const;

 private:
  struct Child;
  class Watch;

  CommandRunner(CommandOptions options, Reaper* reaper);
  SpawnRequest RequestFor(const Job& job) const;
  int Start(const Job& job, Child* child) const;
  bool IsTooLongWithoutKey(const Job& job) const;
  CommandResult NotStarted(const Job& job, int error) const;
  bool NothingStarts() const;
  void ForgetLack() const;

  const CommandOptions options_;
  const CommandLine line_;
  Reaper& reaper_;
  std::string path_;  // Of the program, unless it varies.
  const wq::FileDescriptor null_fd_;
  const wq::FileDescriptor kill_fd_;  // An eventfd that stays readable after KillAll.
  mutable std::atomic<int> running_{0};
  mutable wq::Mutex mu_;
  // The first lack of resources since a command was started or ran.
  mutable std::optional<std::chrono::steady_clock::time_point> stuck_since_ WQ_GUARDED_BY(mu_);
};

}  // namespace wqctl
