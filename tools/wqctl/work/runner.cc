#include "tools/wqctl/work/runner.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/mutant.h"
#include "tools/wqctl/process/reaper.h"
#include "tools/wqctl/process/spawn.h"
#include "tools/wqctl/text/duration.h"
#include "tools/wqctl/text/log.h"
#include "wq/options.h"

namespace wqctl {
namespace {

using Clock = std::chrono::steady_clock;

// The size of one read.
constexpr size_t kChunkBytes = size_t{4} << 10;

// So many descriptors are left to the store, which opens and closes files all the time.
constexpr rlim_t kDescriptorsOfStore = 8;

// How long a lack of resources may last while no command runs: then waiting for one is no use.
constexpr auto kLongestLack = std::chrono::seconds{3};

// Between SIGTERM and SIGKILL for a command that has timed out.
constexpr auto kTermGrace = std::chrono::seconds{2};

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

  // At most `max_bytes`, cut between two characters of UTF-8.
  std::string Take(size_t max_bytes) {
    EndLine();
    if (last_.size() > max_bytes) {
      while (max_bytes > 0 && (static_cast<unsigned char>(last_[max_bytes]) & 0xC0U) == 0x80U) {
        --max_bytes;
      }
      last_.resize(max_bytes);
    }
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

// An end of a pipe for us, which does not block, and one for the command, which does. Returns 0 or
// an errno.
int OpenPipe(wq::FileDescriptor* ours, wq::FileDescriptor* commands) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return errno;
  *ours = wq::FileDescriptor(fds[0]);
  *commands = wq::FileDescriptor(fds[1]);
  fcntl(fds[0], F_SETFL, O_NONBLOCK);
  return 0;
}

// A file in memory that holds `text`. Returns 0 or an errno.
int OpenText(std::string_view text, wq::FileDescriptor* file) {
  *file = wq::FileDescriptor(memfd_create("wqctl key", MFD_CLOEXEC));
  if (!file->valid()) return errno;
  const ssize_t written = write(file->get(), text.data(), text.size());
  if (written != static_cast<ssize_t>(text.size())) return written < 0 ? errno : ENOMEM;
  return lseek(file->get(), 0, SEEK_SET) < 0 ? errno : 0;
}

// How much can be read from the pipe now. A command may have given it another capacity than usual.
size_t BytesIn(int fd) {
  int bytes = 0;
  return fd >= 0 && ioctl(fd, FIONREAD, &bytes) == 0 ? static_cast<size_t>(bytes) : 0;
}

// New descriptors get the lowest free number, so a high number says that few are left.
bool LeavesDescriptors(int newest) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return true;
  return static_cast<rlim_t>(newest) + kDescriptorsOfStore < limit.rlim_cur;
}

std::vector<std::string> EnvironmentFor(const Job& job) {
  std::vector<std::string> variables = {"WQ_QUEUE=" + job.queue->name(),
                                        "WQ_ATTEMPT=" + std::to_string(job.failures + 1),
                                        "WQ_TOKEN=" + std::to_string(job.token)};
  // A variable cannot hold a NUL byte; such a key is on stdin only.
  if (job.key.find('\0') == job.key.npos) variables.push_back("WQ_KEY=" + job.key);
  std::string reasons;
  std::string trace;  // The first one: the variable has room for one.
  for (const wq::Cause& cause : job.causes.list) {
    if (!cause.reason.empty()) reasons += (reasons.empty() ? "" : "\n") + cause.reason;
    if (trace.empty()) trace = cause.trace_parent;
  }
  if (!reasons.empty()) variables.push_back("WQ_REASONS=" + reasons);
  if (!trace.empty()) variables.push_back("TRACEPARENT=" + trace);
  return variables;
}

}  // namespace

struct CommandRunner::Child {
  explicit Child(Reaper* reaper) : command(reaper) {}

  RunningCommand command;
  wq::FileDescriptor out{-1};  // -1: the command has our stdout.
  wq::FileDescriptor err{-1};
};

// One running command: reads its output, waits for its end, and kills it at a timeout or KillAll.
class CommandRunner::Watch {
 public:
  Watch(const CommandOptions& options, int kill_fd, Child* child, JobOutput* output)
      : options_(options), kill_fd_(kill_fd), child_(*child), output_(*output) {
    if (options.timeout.count() > 0) deadline_ = Clock::now() + options.timeout;
  }

  CommandResult Wait() {
    const int status = PollUntilEnd();
    // Reads what the pipes hold now: that includes all output of the command, while a process that
    // it left may write indefinitely.
    const size_t err_bytes = BytesIn(child_.err.get());
    for (size_t read = 0; read < err_bytes && ReadStderr(); read += kChunkBytes) {
    }
    const size_t out_bytes = BytesIn(child_.out.get());
    for (size_t read = 0; read < out_bytes && ReadStdout(); read += kChunkBytes) {
    }
    return ResultOf(status);
  }

 private:
  // Returns the wait status.
  int PollUntilEnd() {
    std::array<pollfd, 4> fds = {pollfd{child_.command.fd(), POLLIN, 0},
                                 pollfd{kill_fd_, POLLIN, 0}, pollfd{child_.err.get(), POLLIN, 0},
                                 pollfd{child_.out.get(), POLLIN, 0}};
    while (true) {
      const int ready =
          poll(fds.data(), fds.size(), deadline_ ? MillisecondsUntil(*deadline_) : -1);
      if (ready > 0 && fds[2].revents != 0 && !ReadStderr()) fds[2].fd = -1;
      if (ready > 0 && fds[3].revents != 0 && !ReadStdout()) fds[3].fd = -1;
      if (ready > 0 && fds[0].revents != 0) return child_.command.Collect();
      if (ready > 0 && fds[1].revents != 0) {
        killed_ = true;
        child_.command.Kill();
        fds[1].fd = -1;
      }
      if (deadline_ && Clock::now() >= *deadline_) AtDeadline();
    }
  }

  void AtDeadline() {
    if (timed_out_) {
      child_.command.Kill();
      deadline_.reset();
      return;
    }
    timed_out_ = true;
    child_.command.Terminate();
    deadline_ = Clock::now() + kTermGrace;
  }

  // Reads once. False at the end of the pipe, or if there is none.
  template <typename Take>
  static bool ReadFrom(int fd, Take take) {
    std::array<char, kChunkBytes> buffer;
    const ssize_t n = fd < 0 ? 0 : read(fd, buffer.data(), buffer.size());
    if (n <= 0) return n < 0 && (errno == EAGAIN || errno == EINTR);
    take(std::string_view(buffer.data(), static_cast<size_t>(n)));
    return true;
  }

  bool ReadStdout() {
    return ReadFrom(child_.out.get(), [this](std::string_view text) { output_.OnStdout(text); });
  }

  bool ReadStderr() {
    return ReadFrom(child_.err.get(), [this](std::string_view text) {
      output_.OnStderr(text);
      last_line_.Append(text);
    });
  }

  CommandResult ResultOf(int status) {
    using Kind = CommandResult::Kind;
    CommandResult result;
    if (killed_ && !WQ_MUTANT(killed_command_fails)) {
      result.kind = Kind::kKilled;
      result.error = "killed";
    } else if (timed_out_ || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      result.kind = Kind::kFailed;
      result.timed_out = timed_out_;
      result.error = FailureText(timed_out_ ? "timed out after " + FormatDuration(options_.timeout)
                                            : DescribeEnd(status));
    }
    return result;
  }

  // "the last line [exit status 1]"; the end is never cut.
  std::string FailureText(const std::string& end) {
    const std::string line = last_line_.Take(wq::kMaxErrorBytes - end.size() - 3);
    return line.empty() ? end : line + " [" + end + "]";
  }

  const CommandOptions& options_;
  const int kill_fd_;
  Child& child_;
  JobOutput& output_;
  std::optional<Clock::time_point> deadline_;  // Of SIGTERM, then of SIGKILL.
  bool timed_out_ = false;
  bool killed_ = false;
  LastLine last_line_;
};

CommandRunner::CommandRunner(CommandOptions options, Reaper* reaper)
    : options_(std::move(options)),
      line_(options_.command, !options_.key_on_stdin),
      reaper_(*reaper),
      null_fd_(open("/dev/null", O_RDONLY | O_CLOEXEC)),
      kill_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

int CommandRunner::Create(CommandOptions options, Reaper* reaper,
                          std::unique_ptr<CommandRunner>* runner) {
  std::unique_ptr<CommandRunner> made(new CommandRunner(std::move(options), reaper));
  if (!made->null_fd_.valid() || !made->kill_fd_.valid()) return errno;
  if (!made->line_.program_varies()) {
    const int error = FindProgram(made->line_.program(), &made->path_);
    if (error != 0) return error;
  }
  *runner = std::move(made);
  return 0;
}

void CommandRunner::KillAll() const { eventfd_write(kill_fd_.get(), 1); }

SpawnRequest CommandRunner::RequestFor(const Job& job) const {
  return {.path = path_,
          .argv = line_.ArgvFor(job.key),
          .environment = EnvironmentFor(job),
          .unset = {"WQ_KEY", "WQ_QUEUE", "WQ_ATTEMPT", "WQ_TOKEN", "WQ_REASONS", "TRACEPARENT"},
          .stdin_fd = null_fd_.get(),
          .stdout_fd = STDOUT_FILENO,
          .stderr_fd = STDERR_FILENO,
          .signal_mask = options_.signal_mask,
          .umask = options_.umask};
}

int CommandRunner::Start(const Job& job, Child* child) const {
  SpawnRequest request = RequestFor(job);
  if (line_.program_varies()) {
    if (const int error = FindProgram(request.argv.front(), &request.path); error != 0) {
      return error;
    }
  }
  struct {  // The command's.
    wq::FileDescriptor stdin_end{-1};
    wq::FileDescriptor stdout_end{-1};
    wq::FileDescriptor stderr_end{-1};
  } pipes;
  if (const int error = OpenPipe(&child->err, &pipes.stderr_end); error != 0) return error;
  request.stderr_fd = pipes.stderr_end.get();
  if (options_.key_on_stdin) {
    if (const int error = OpenText(job.key, &pipes.stdin_end); error != 0) return error;
    request.stdin_fd = pipes.stdin_end.get();
  }
  if (!options_.pass_stdout) {
    if (const int error = OpenPipe(&child->out, &pipes.stdout_end); error != 0) return error;
    request.stdout_fd = pipes.stdout_end.get();
  }
  const int newest = std::max(pipes.stderr_end.get(), pipes.stdout_end.get());
  if (running_ > 0 && !LeavesDescriptors(newest)) return EMFILE;
  return child->command.Start(request);
}

// Whether our environment leaves no room for the command of an empty key. The kernel looks at the
// size of the arguments before it finds that an empty program cannot be run.
bool CommandRunner::IsTooLongWithoutKey(const Job& job) const {
  Job empty = job;
  empty.key.clear();
  empty.causes = {};
  SpawnRequest request = RequestFor(empty);
  const wq::FileDescriptor program(memfd_create("nothing", MFD_CLOEXEC));
  request.path = "/proc/self/fd/" + std::to_string(program.get());
  pid_t pid = -1;
  int pid_fd = -1;
  return Spawn(request, &pid, &pid_fd) == E2BIG;
}

// Whether a lack of resources has lasted while no command ran.
bool CommandRunner::NothingStarts() const {
  const Clock::time_point now = Clock::now();
  const wq::MutexLock lock(mu_);
  if (running_ > 0) {
    stuck_since_.reset();
    return false;
  }
  if (!stuck_since_) stuck_since_ = now;
  return now - *stuck_since_ >= kLongestLack;
}

void CommandRunner::ForgetLack() const {
  const wq::MutexLock lock(mu_);
  stuck_since_.reset();
}

CommandResult CommandRunner::NotStarted(const Job& job, int error) const {
  using Kind = CommandResult::Kind;
  CommandResult result;
  result.error = "cannot run the command: " + ErrnoText(error);
  if (IsLackOfResources(error)) {
    result.kind = NothingStarts() ? Kind::kCannotRun : Kind::kNoResources;
  } else if (error == ETXTBSY) {
    result.kind = Kind::kNoResources;  // A program that is being written can be run soon.
  } else if (error == E2BIG) {
    result.kind = IsTooLongWithoutKey(job) ? Kind::kCannotRun : Kind::kFailed;
  } else {
    // ESRCH is the reaper's end, whatever the program.
    const bool is_of_key = line_.program_varies() && error != ESRCH;
    result.kind = is_of_key ? Kind::kFailed : Kind::kCannotRun;
  }
  return result;
}

CommandResult CommandRunner::Run(const Job& job, JobOutput* output) const {
  const Clock::time_point started = Clock::now();
  CommandResult result;
  if (line_.UsesKey() && job.key.find('\0') != job.key.npos) {
    result.kind = CommandResult::Kind::kFailed;
    result.error = "the key has a NUL byte, which no argument of a command can hold";
  } else {
    Child child(&reaper_);
    if (const int error = Start(job, &child); error != 0) {
      result = NotStarted(job, error);
    } else {
      ++running_;
      ForgetLack();
      result = Watch(options_, kill_fd_.get(), &child, output).Wait();
      --running_;
    }
  }
  result.ran_for = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - started);
  return result;
}

}  // namespace wqctl
