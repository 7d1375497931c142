#include "tools/wqctl/process/reaper.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "tools/wqctl/process/descriptor.h"

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
  const Descriptor file(open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC));
  if (file.get() < 0 || !ReadWhole(file.get(), &command_line)) return;
  if (command_line.size() <= std::strlen(kName)) return;
  std::memset(program_invocation_name, 0, command_line.size());
  std::string_view(kName).copy(program_invocation_name, std::strlen(kName));
}

// The process of a pidfd. 0 or less: it has ended, or this is no pidfd.
pid_t PidOf(int pid_fd) {
  constexpr std::string_view kField = "\nPid:\t";
  std::string text;
  const Descriptor file(
      open(("/proc/self/fdinfo/" + std::to_string(pid_fd)).c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0 || !ReadWhole(file.get(), &text)) return 0;
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
  // Whoever has started this process may have it ignore SIGCHLD: then the kernel would not tell how
  // a command has ended.
  struct sigaction normal = {};
  normal.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &normal, nullptr);
  // fork(2), but the child shares our table of descriptors.
  pid_ = static_cast<pid_t>(
      syscall(SYS_clone, CLONE_FILES | CLONE_PIDFD | SIGCHLD, nullptr, &pid_fd_, nullptr, nullptr));
  if (pid_ < 0) return Refused("clone", errno);
  if (pid_ == 0) RunReaper(own_fd_, places_);
  // An old kernel does not know the flag, and makes no pidfd.
  return pid_fd_ < 0 ? Refused("clone with CLONE_PIDFD", ENOSYS) : wq::Status::Ok();
}

Reaper::~Reaper() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
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
  const int pid_fd = std::exchange(*place_, -1);  // First: the number of its process is free soon.
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  close(pid_fd);
  return status;
}

}  // namespace wqctl
