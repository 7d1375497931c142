// CommandRunner: runs the user's command for one key and waits for its end.
//
//   std::unique_ptr<CommandRunner> runner;
//   int error = CommandRunner::Create(options, &runner);   // ENOENT: no such command
//   CommandResult result = runner->Run("default/web-1");   // blocks until it has ended
//
// The command's stdin is empty, its stdout is ours, and its stderr is copied to ours. Thread-safe.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace wqctl {

struct CommandOptions {
  // "{}" within a word becomes the key; if there is none, the key is appended.
  std::vector<std::string> command;
  std::chrono::microseconds timeout{0};  // 0 is none.
  sigset_t signal_mask = {};             // Of the command.
  mode_t umask = 0;                      // Of the command.
  // Receives the command's stderr. Called on the threads that call Run.
  std::function<void(std::string_view)> write_stderr;
};

struct CommandResult {
  enum class Kind {
    kSucceeded,
    kFailed,
    kCannotRun,  // The program is missing or not executable, for every key.
    kKilled,     // By KillAll.
  };
  Kind kind = Kind::kSucceeded;
  std::string error;  // The last line of its stderr, or how it ended. Empty for success.
};

class CommandRunner {
 public:
  // REQUIRES: options.command is not empty.
  // Returns 0, or an errno: ENOENT, EACCES for a program that cannot be run.
  static int Create(CommandOptions options, std::unique_ptr<CommandRunner>* runner);
  ~CommandRunner();
  CommandRunner(const CommandRunner&) = delete;
  CommandRunner& operator=(const CommandRunner&) = delete;

  CommandResult Run(std::string_view key) const;

  // Kills the process groups of all running commands, and of every later one.
  void KillAll() const;

 private:
  class Watch;

  CommandRunner(CommandOptions options, int null_fd, int kill_fd);
  std::vector<std::string> ArgvFor(std::string_view key) const;

  const CommandOptions options_;
  const bool has_placeholder_;  // In any word.
  const bool program_has_one_;  // In the first word: each key has its own program.
  std::string path_;            // Of the program, unless program_has_one_.
  const int null_fd_;
  const int kill_fd_;  // An eventfd that stays readable after KillAll.
};

}  // namespace wqctl
