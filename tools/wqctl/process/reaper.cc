#include "tools/wqctl/process/reaper.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/files.h"

namespace wqctl {
namespace {

// Not "wqctl", so that `killall -9 wqctl` and `pkill -9 wqctl` spare the process that cleans up.
constexpr const char* kName = "wq-reaper";

constexpr size_t kPlacesBytes = sizeof(int) * Reaper::kMaxCommands;

// Names this process for ps and for pkill, with -f too: our copy of argv is the start of the
// command line that they see.
void SetName() {
  prctl(PR_SET_NAME, kName);
  std::string command_line;
  if (!wq::ReadSmallFile("/proc/self/cmdline", size_t{4} << 20, &command_line).ok()) return;
  if (command_line.size() <= std::strlen(kName)) return;
  std::memset(program_invocation_name, 0, command_line.size());
  std::string_view(kName).copy(program_invocation_name, std::strlen(kName));
}

// The process of a pidfd. 0 or less: it has ended, or this is no pidfd.
pid_t PidOf(int pid_fd) {
  constexpr std::string_view kField = "\nPid:\t";
  std::string text;
  if (!wq::ReadSmallFile("/proc/self/fdinfo/" + std::to_string(pid_fd), 4096, &text).ok()) return 0;
  const size_t at = text.find(kField);
  pid_t pid = 0;
  if (at != text.npos) {
    std::from_chars(text.data() + at + kField.size(), text.data() + text.size(), pid);
  }
  return pid;
}

void AwaitEnd(int pid_fd) {
  pollfd process = {pid_fd, POLLIN, 0};
  while (poll(&process, 1, -1) <= 0) {
  }
}

// What the reaper does.
[[noreturn]] void RunReaper(int owner_fd, const int* places) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  setsid();
  SetName();
  AwaitEnd(owner_fd);
  std::vector<pid_t> commands;
  for (const int* place = places; place < places + Reaper::kMaxCommands; ++place) {
    const pid_t command = *place < 0 ? 0 : PidOf(*place);
    if (command > 0) commands.push_back(command);
  }
  if (!commands.empty()) Family(std::move(commands)).Kill();
  _exit(0);
}

// Between two looks at a child that is not waited for here.
constexpr int kOrphanIntervalMs = 10;

// Whether the orphans among the descendants of this process become its children.
bool GetsOrphans() {
  int subreaper = 0;
  return getpid() == 1 || (prctl(PR_GET_CHILD_SUBREAPER, &subreaper) == 0 && subreaper != 0);
}

// The process of a pidfd if it is a child that has ended and nobody has waited for; otherwise 0.
// *error: an errno.
pid_t ZombieOf(int pid_fd, int* error) {
  siginfo_t info = {};
  *error = waitid(P_PIDFD, static_cast<id_t>(pid_fd), &info, WEXITED | WNOHANG | WNOWAIT) == 0
               ? 0
               : errno;
  return *error == 0 ? info.si_pid : 0;
}

wq::Status Refused(const std::string& call, int error) {
  std::string text = "no command can be watched over: ";
  text.append(call).append(": ").append(std::generic_category().message(error));
  if (IsLackOfResources(error)) return wq::Status::IOError(std::move(text));
  return wq::Status::NotSupported(
      std::move(text.append("; see \"What work needs\" in docs/wqctl.md")));
}

}  // namespace

wq::Status Reaper::Start() {
  void* const memory =
      mmap(nullptr, kPlacesBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return Refused("mmap", errno);
  places_ = static_cast<int*>(memory);
  std::fill_n(places_, kMaxCommands, -1);
  {
    const wq::MutexLock lock(mu_);
    for (int i = kMaxCommands; i > 0; --i) free_.push_back(places_ + i - 1);
  }
  own_fd_ = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
  if (own_fd_ < 0) return Refused("pidfd_open", errno);
  // If SIGCHLD is ignored, the kernel does not tell how a command has ended.
  struct sigaction normal = {};
  normal.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &normal, nullptr);
  // fork(2), but the child shares our table of descriptors.
  pid_ = static_cast<pid_t>(
      syscall(SYS_clone, CLONE_FILES | CLONE_PIDFD | SIGCHLD, nullptr, &pid_fd_, nullptr, nullptr));
  if (pid_ < 0) return Refused("clone", errno);
  if (pid_ == 0) RunReaper(own_fd_, places_);
  // An old kernel does not know the flag, and makes no pidfd.
  if (pid_fd_ < 0) return Refused("clone with CLONE_PIDFD", ENOSYS);
  int unknown_kind = 0;
  ZombieOf(pid_fd_, &unknown_kind);
  return GetsOrphans() && unknown_kind == 0 ? StartCollecting() : wq::Status::Ok();
}

// No signal is for the thread.
wq::Status Reaper::StartCollecting() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  wq::Status s;
  try {
    orphans_ = std::thread([this] { CollectOrphans(); });
  } catch (const std::system_error& error) {
    s = Refused("pthread_create", error.code().value());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return s;
}

// The end of a command is for Collect: its place has the pidfd before the command runs, until
// Collect has waited.
void Reaper::CollectOrphans() const {
  while (true) {
    siginfo_t info = {};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) != 0) {
      if (errno == EINTR) continue;
      return;
    }
    if (IsCommand(info.si_pid)) {
      poll(nullptr, 0, kOrphanIntervalMs);
      continue;
    }
    waitpid(info.si_pid, nullptr, WNOHANG);
    if (info.si_pid == pid_) return;
  }
}

bool Reaper::IsCommand(pid_t pid) const {
  return std::any_of(places_, places_ + kMaxCommands, [pid](int& place) {
    const int pid_fd = std::atomic_ref(place).load();
    int error = 0;
    return pid_fd >= 0 && ZombieOf(pid_fd, &error) == pid;
  });
}

Reaper::~Reaper() {
  if (pid_ > 0) {
    // By the pidfd: another process may have the number by now.
    if (orphans_.joinable()) {
      syscall(SYS_pidfd_send_signal, pid_fd_, SIGKILL, nullptr, 0);
      orphans_.join();
    } else {
      kill(pid_, SIGKILL);
      while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
    close(pid_fd_);
  }
  if (own_fd_ >= 0) close(own_fd_);
  if (places_ != nullptr) munmap(places_, kPlacesBytes);
}

int* Reaper::TakePlace() {
  pollfd process = {pid_fd_, POLLIN, 0};
  if (poll(&process, 1, 0) > 0) return nullptr;
  const wq::MutexLock lock(mu_);
  int* const place = free_.back();
  free_.pop_back();
  return place;
}

void Reaper::ReturnPlace(int* place) {
  const wq::MutexLock lock(mu_);
  free_.push_back(place);
}

RunningCommand::~RunningCommand() {
  if (place_ != nullptr) reaper_.ReturnPlace(place_);
}

int RunningCommand::Start(const SpawnRequest& request) {
  place_ = reaper_.TakePlace();
  return place_ == nullptr ? ESRCH : Spawn(request, &pid_, place_);
}

void RunningCommand::Terminate() {
  if (!told_to_end_) told_to_end_.emplace(std::vector<pid_t>{pid_});
  told_to_end_->Terminate();
}

void RunningCommand::Kill() {
  if (!told_to_end_) told_to_end_.emplace(std::vector<pid_t>{pid_});
  told_to_end_->Kill();
}

int RunningCommand::Collect() {
  if (told_to_end_) told_to_end_->Kill();
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  // Then: until here CollectOrphans must know it. The pidfd of a process that was waited for names
  // no other one.
  close(std::atomic_ref(*place_).exchange(-1));
  return status;
}

}  // namespace wqctl
