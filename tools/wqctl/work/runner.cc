#include "tools/wqctl/work/runner.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "tools/wqctl/text/duration.h"
#include "tools/wqctl/text/log.h"
#include "tools/wqctl/work/spawn.h"
#include "wq/options.h"

namespace wqctl {
namespace {

using Clock = std::chrono::steady_clock;

// The capacity of a pipe, and the size of one read.
constexpr size_t kPipeBytes = size_t{64} << 10;
constexpr size_t kErrorChunkBytes = size_t{4} << 10;

constexpr std::string_view kPlaceholder = "{}";

// Between SIGTERM and SIGKILL for a command that has timed out.
constexpr auto kTermGrace = std::chrono::seconds{2};

bool HasPlaceholder(std::string_view word) { return word.find(kPlaceholder) != word.npos; }

std::string Replace(std::string_view word, std::string_view key) {
  std::string result;
  for (size_t at = word.find(kPlaceholder); at != word.npos; at = word.find(kPlaceholder)) {
    result.append(word.substr(0, at)).append(key);
    word.remove_prefix(at + kPlaceholder.size());
  }
  return result.append(word);
}

// The last line that is not blank of a text that arrives in pieces.
class LastLine {
 public:
  void Append(std::string_view text) {
    for (size_t end = text.find('\n'); end != text.npos; end = text.find('\n')) {
      AppendToLine(text.substr(0, end));
      EndLine();
      text.remove_prefix(end + 1);
    }
    AppendToLine(text);
  }

  std::string Take() {
    EndLine();
    return std::move(last_);
  }

 private:
  // Keeps a few bytes more than the final limit, so that the cut can be between two characters.
  void AppendToLine(std::string_view text) {
    line_.append(text.substr(0, wq::kMaxErrorBytes + 4 - line_.size()));
  }

  void EndLine() {
    line_.erase(line_.find_last_not_of(" \t\r") + 1);
    if (!line_.empty()) last_.swap(line_);
    line_.clear();
  }

  std::string line_;
  std::string last_;
};

// glibc 2.36 declares pidfd_open without extern "C", so a C++ program does not link with it.
int OpenPid(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

std::string DescribeEnd(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    const char* const name = sigabbrev_np(signal);
    return "killed by signal " + std::to_string(signal) +
           (name != nullptr ? " (SIG" + std::string(name) + ")" : "");
  }
  return "exit status " + std::to_string(WEXITSTATUS(wait_status));
}

int MillisecondsUntil(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 60'000));
}

}  // namespace

// One running command: reads its stderr, waits for its end, and kills it at a timeout or KillAll.
class CommandRunner::Watch {
 public:
  Watch(const CommandOptions& options, int kill_fd, pid_t pid, int stderr_fd)
      : options_(options), kill_fd_(kill_fd), pid_(pid), stderr_fd_(stderr_fd) {
    if (options.timeout.count() > 0) deadline_ = Clock::now() + options.timeout;
  }

  CommandResult Wait() {
    const int pid_fd = OpenPid(pid_);
    const int error = pid_fd < 0 ? errno : 0;
    if (error == 0) PollUntilExit(pid_fd);
    // The command is dead but not reaped, so its group id cannot belong to another process yet. The
    // processes that it left are killed only if we ended the command.
    if (ended_by_us_ || error != 0) kill(-pid_, SIGKILL);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    if (error != 0) {
      return {CommandResult::Kind::kFailed, "cannot watch the command: " + ErrnoText(error)};
    }
    close(pid_fd);
    // Reads no more than the pipe can hold: that includes all output of the command, while a
    // process that it left may write indefinitely.
    for (size_t read = 0; read < kPipeBytes && ReadStderr(); read += kErrorChunkBytes) {
    }
    return ResultOf(status);
  }

 private:
  void PollUntilExit(int pid_fd) {
    std::array<pollfd, 3> fds = {pollfd{pid_fd, POLLIN, 0}, pollfd{kill_fd_, POLLIN, 0},
                                 pollfd{stderr_fd_, POLLIN, 0}};
    while (true) {
      const int ready =
          poll(fds.data(), fds.size(), deadline_ ? MillisecondsUntil(*deadline_) : -1);
      if (ready < 0 && errno != EINTR) return;
      if (ready > 0 && fds[2].revents != 0 && !ReadStderr()) fds[2].fd = -1;
      if (ready > 0 && fds[0].revents != 0) return;
      if (ready > 0 && fds[1].revents != 0) {
        killed_ = ended_by_us_ = true;
        kill(-pid_, SIGKILL);
        fds[1].fd = -1;
      }
      if (deadline_ && Clock::now() >= *deadline_) AtDeadline();
    }
  }

  void AtDeadline() {
    if (timed_out_) {
      kill(-pid_, SIGKILL);
      deadline_.reset();
      return;
    }
    timed_out_ = ended_by_us_ = true;
    kill(-pid_, SIGTERM);
    deadline_ = Clock::now() + kTermGrace;
  }

  // Reads once. False at the end of the pipe.
  bool ReadStderr() {
    std::array<char, kErrorChunkBytes> buffer;
    const ssize_t n = read(stderr_fd_, buffer.data(), buffer.size());
    if (n <= 0) return n < 0 && (errno == EAGAIN || errno == EINTR);
    const std::string_view text(buffer.data(), static_cast<size_t>(n));
    options_.write_stderr(text);
    last_line_.Append(text);
    return true;
  }

  CommandResult ResultOf(int status) {
    using Kind = CommandResult::Kind;
    if (killed_) return {Kind::kKilled, "killed"};
    if (timed_out_) return {Kind::kFailed, "timed out after " + FormatDuration(options_.timeout)};
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
    std::string line = last_line_.Take();
    return {Kind::kFailed, line.empty() ? DescribeEnd(status) : std::move(line)};
  }

  const CommandOptions& options_;
  const int kill_fd_;
  const pid_t pid_;
  const int stderr_fd_;
  std::optional<Clock::time_point> deadline_;  // Of SIGTERM, then of SIGKILL.
  bool timed_out_ = false;
  bool killed_ = false;
  bool ended_by_us_ = false;
  LastLine last_line_;
};

CommandRunner::CommandRunner(CommandOptions options, int null_fd, int kill_fd)
    : options_(std::move(options)),
      has_placeholder_(
          std::any_of(options_.command.begin(), options_.command.end(), HasPlaceholder)),
      program_has_one_(HasPlaceholder(options_.command.front())),
      null_fd_(null_fd),
      kill_fd_(kill_fd) {}

CommandRunner::~CommandRunner() {
  close(null_fd_);
  close(kill_fd_);
}

int CommandRunner::Create(CommandOptions options, std::unique_ptr<CommandRunner>* runner) {
  const int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null_fd < 0) return errno;
  const int kill_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (kill_fd < 0) {
    const int error = errno;
    close(null_fd);
    return error;
  }
  std::unique_ptr<CommandRunner> made(new CommandRunner(std::move(options), null_fd, kill_fd));
  if (!made->program_has_one_) {
    const int error = FindProgram(made->options_.command.front(), &made->path_);
    if (error != 0) return error;
  }
  *runner = std::move(made);
  return 0;
}

void CommandRunner::KillAll() const { eventfd_write(kill_fd_, 1); }

std::vector<std::string> CommandRunner::ArgvFor(std::string_view key) const {
  std::vector<std::string> argv;
  argv.reserve(options_.command.size() + 1);
  for (const std::string& word : options_.command) argv.push_back(Replace(word, key));
  if (!has_placeholder_) argv.emplace_back(key);
  return argv;
}

CommandResult CommandRunner::Run(std::string_view key) const {
  using Kind = CommandResult::Kind;
  if (key.find('\0') != key.npos) {
    return {Kind::kFailed, "the key has a NUL byte, which no argument of a command can hold"};
  }
  SpawnRequest request{path_, ArgvFor(key), null_fd_, -1, options_.signal_mask, options_.umask};
  int error = 0;
  if (program_has_one_) error = FindProgram(request.argv.front(), &request.path);
  int stderr_pipe[2] = {-1, -1};
  if (error == 0 && pipe2(stderr_pipe, O_CLOEXEC) != 0) error = errno;
  pid_t pid = -1;
  if (error == 0) {
    // Only our end is non-blocking: commands expect a blocking stderr.
    fcntl(stderr_pipe[0], F_SETFL, O_NONBLOCK);
    request.stderr_fd = stderr_pipe[1];
    error = Spawn(request, &pid);
    close(stderr_pipe[1]);
  }
  CommandResult result;
  if (error == 0) {
    result = Watch(options_, kill_fd_, pid, stderr_pipe[0]).Wait();
  } else {
    const bool no_key_works = error == ENOENT || error == EACCES || error == ENOEXEC;
    result.kind = no_key_works && !program_has_one_ ? Kind::kCannotRun : Kind::kFailed;
    result.error = "cannot run the command: " + ErrnoText(error);
  }
  if (stderr_pipe[0] >= 0) close(stderr_pipe[0]);
  return result;
}

}  // namespace wqctl
