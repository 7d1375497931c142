#include "tools/wqctl/process/reaper_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "tools/wqctl/process/descendants.h"
#include "tools/wqctl/process/descriptor.h"
#include "tools/wqctl/process/reaper_messages.h"
#include "tools/wqctl/process/spawn.h"
#include "tools/wqctl/process/spawn_plan.h"

namespace wqctl {
namespace {

// Not "wqctl", so that `killall -9 wqctl` and `pkill -9 wqctl` spare the processes that clean up.
constexpr const char* kName = "wq-reaper";

// Between two looks at what SIGKILL has left, at first and at most.
constexpr long kKillIntervalNs = 1'000'000;
constexpr long kLongestKillIntervalNs = 100'000'000;

// Names this process for ps and for pkill, with -f too: our copy of argv is the start of the
// command line that they see.
void SetName() {
  prctl(PR_SET_NAME, kName);
  std::string command_line;
  const Descriptor file(open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC));
  if (file.get() < 0 || !ReadWhole(file.get(), &command_line)) return;
  if (command_line.size() <= std::strlen(kName)) return;
  std::memset(program_invocation_name, 0, command_line.size());
  std::string_view(kName).copy(program_invocation_name, std::strlen(kName));
}

sigset_t AllSignals() {
  sigset_t signals;
  sigfillset(&signals);
  return signals;
}

// Waits for a message at `channel`, for the end of the owner, or for SIGCHLD. Returns whether there
// is a message; *owner_ended otherwise says which of the two it was.
bool AwaitMessage(int channel, int owner_fd, bool* owner_ended) {
  std::array<pollfd, 2> fds = {pollfd{channel, POLLIN, 0}, pollfd{owner_fd, POLLIN, 0}};
  sigset_t all_but_child = AllSignals();
  sigdelset(&all_but_child, SIGCHLD);
  const int ready = ppoll(fds.data(), fds.size(), nullptr, &all_but_child);
  *owner_ended = ready > 0 && fds[1].revents != 0;
  return ready > 0 && !*owner_ended && fds[0].revents != 0;
}

// False: `channel` has no other end.
template <typename Message>
bool Receive(int channel, Message* message) {
  return recv(channel, message, sizeof *message, 0) == sizeof *message;
}

// One that runs a command at a time.
class Reaper {
 public:
  Reaper(int channel, int owner_fd) : channel_(channel), owner_fd_(owner_fd) {}

  // Returns when the process is to end.
  void Run() {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    while (true) {
      bool owner_ended = false;
      ReaperRequest request;
      if (!AwaitMessage(channel_, owner_fd_, &owner_ended)) {
        if (owner_ended) return;
        continue;
      }
      if (!Receive(channel_, &request)) return;
      if (request.kind == ReaperRequest::Kind::kRun && !RunCommand(request.fd)) return;
    }
  }

 private:
  // False: this process is to end.
  bool RunCommand(int plan_fd) {
    const int error = Start(plan_fd);
    Answer({.kind = ReaperAnswer::Kind::kStarted, .value = error});
    if (error != 0) return true;
    bool told_to_end = false;
    while (Collect(), command_ != 0) {
      bool owner_ended = false;
      ReaperRequest request{.kind = ReaperRequest::Kind::kKill};
      if (AwaitMessage(channel_, owner_fd_, &owner_ended)) {
        Receive(channel_, &request);
        told_to_end = true;
        End(request.kind);
      } else if (owner_ended) {
        Kill();
        return false;
      }
    }
    // A reaper that is told to end a command ends the rest of it before the key can be handed out
    // again.
    if (told_to_end) Kill();
    const bool left = Collect();
    Answer({.kind = ReaperAnswer::Kind::kEnded, .value = status_, .left_processes = left});
    return !left;
  }

  int Start(int plan_fd) {
    SpawnRequest request;
    std::string plan;
    if (!ReadWhole(plan_fd, &plan)) return EIO;
    if (!DecodePlan(plan, &request)) return EINVAL;
    return Spawn(request, &command_);
  }

  void End(ReaperRequest::Kind kind) {
    if (kind != ReaperRequest::Kind::kTerminate) return Kill();
    // Without /proc its group is all that can be found. The command has not been collected, so the
    // group's number is its own.
    if (!SignalDescendants(SIGTERM)) kill(-command_, SIGTERM);
  }

  // Ends all descendants, and returns when they have ended; but for those of other users. What is
  // born during a look at /proc may be missed by it: two that find nothing tell.
  void Kill() {
    if (command_ != 0) kill(-command_, SIGKILL);
    const sigset_t child = ChildSignal();
    timespec interval = {.tv_sec = 0, .tv_nsec = kKillIntervalNs};
    for (int found_nothing = 0; Collect() && found_nothing < 2;) {
      found_nothing = SignalDescendants(SIGKILL) ? 0 : found_nothing + 1;
      if (sigtimedwait(&child, nullptr, &interval) < 0) {
        interval.tv_nsec = std::min(2 * interval.tv_nsec, kLongestKillIntervalNs);
      }
    }
  }

  static sigset_t ChildSignal() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    return signals;
  }

  // Collects the children that have ended. Whether there are others: then, and only then, there are
  // descendants.
  bool Collect() {
    int status = 0;
    pid_t pid = 0;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
      if (pid != command_) continue;
      command_ = 0;
      status_ = status;
    }
    return pid == 0;
  }

  void Answer(const ReaperAnswer& answer) const {
    [[maybe_unused]] const ssize_t sent = send(channel_, &answer, sizeof answer, MSG_NOSIGNAL);
  }

  const int channel_;
  const int owner_fd_;  // A pidfd.
  pid_t command_ = 0;   // 0: none that has not been collected.
  int status_ = 0;      // Of the command that was collected last.
};

NewReaperAnswer MakeReaper(const NewReaperRequest& request, int owner_fd) {
  NewReaperAnswer answer;
  const pid_t pid = ForkSharingDescriptors(&answer.pid_fd);
  if (pid == 0) {
    Reaper(request.channel, owner_fd).Run();
    _exit(0);
  }
  if (pid < 0) answer.error = errno;
  return answer;
}

}  // namespace

pid_t ForkSharingDescriptors(int* pid_fd) {
  return static_cast<pid_t>(
      syscall(SYS_clone, CLONE_FILES | CLONE_PIDFD | SIGCHLD, nullptr, pid_fd, nullptr, nullptr));
}

void RunReaperMaker(int channel, pid_t owner) {
  // Blocked, not ignored: a command inherits what is ignored.
  const sigset_t all = AllSignals();
  sigprocmask(SIG_SETMASK, &all, nullptr);
  struct sigaction interrupt = {};
  interrupt.sa_handler = [](int) {};  // Ends a ppoll.
  sigaction(SIGCHLD, &interrupt, nullptr);
  setsid();
  SetName();
  const int owner_fd = static_cast<int>(syscall(SYS_pidfd_open, owner, 0));
  NewReaperAnswer answer{.error = owner_fd < 0 ? errno : 0};
  NewReaperRequest request;
  while (getppid() == owner && send(channel, &answer, sizeof answer, MSG_NOSIGNAL) > 0) {
    bool owner_ended = false;
    while (!AwaitMessage(channel, owner_fd, &owner_ended)) {
      if (owner_ended) _exit(0);
      // Not left to the kernel (SIG_IGN): then nobody would know how much CPU time they took.
      while (waitpid(-1, nullptr, WNOHANG) > 0) {
      }
    }
    if (!Receive(channel, &request)) break;
    answer = MakeReaper(request, owner_fd);
  }
  while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
  _exit(0);
}

}  // namespace wqctl
