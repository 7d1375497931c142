#include "tools/wqctl/process/spawn.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

// glibc's name for clone(2) that ThreadSanitizer does not intercept: its interceptor assumes that
// the child has memory of its own.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" int __clone(int (*run)(void*), void* stack, int flags, void* argument, ...);

namespace wqctl {
namespace {

// The child uses this stack while the parent waits for its exec.
constexpr size_t kChildStackBytes = size_t{64} << 10;

// Prepared before the child exists: it shares our memory until it execs, so it must not allocate,
// and changes nothing but `error`.
struct ChildPlan {
  const char* path;
  char* const* argv;
  char* const* envp;
  int stdin_fd;
  int stdout_fd;
  int stderr_fd;
  const sigset_t* signal_mask;
  mode_t umask;
  int error = 0;  // The errno of the call that failed.
};

// Runs in the child. Only async-signal-safe calls. All signals are blocked, so no handler of ours
// runs here. Not instrumented: a sanitizer's run time must not run in a process that shares our
// memory.
__attribute__((no_sanitize("address", "thread", "undefined"))) int RunChild(void* argument) {
  ChildPlan& plan = *static_cast<ChildPlan*>(argument);
  // With setpgid alone the child would be in the terminal's background, and be stopped for good
  // when it uses the terminal.
  const bool ready = setsid() >= 0 && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 &&
                     dup2(plan.stdin_fd, STDIN_FILENO) >= 0 &&
                     dup2(plan.stdout_fd, STDOUT_FILENO) >= 0 &&
                     dup2(plan.stderr_fd, STDERR_FILENO) >= 0;
  if (ready) {
    umask(plan.umask);
    struct sigaction normal = {};
    normal.sa_handler = SIG_DFL;
    // wqctl ignores these two.
    sigaction(SIGPIPE, &normal, nullptr);
    sigaction(SIGXFSZ, &normal, nullptr);
    sigprocmask(SIG_SETMASK, plan.signal_mask, nullptr);
    execve(plan.path, plan.argv, plan.envp);
  }
  plan.error = errno;
  // Not _exit: ThreadSanitizer would take it for the end of this process.
  syscall(SYS_exit_group, 127);
  return 127;
}

// As vfork, with a stack of its own. Returns 0 or an errno.
int StartChild(ChildPlan* plan, pid_t* pid, int* pid_fd) {
  const std::unique_ptr<std::byte[]> stack(new std::byte[kChildStackBytes]);
  constexpr int kFlags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD;
  std::byte* top = stack.get() + kChildStackBytes;
  top -= reinterpret_cast<uintptr_t>(top) % 16;
  *pid = __clone(RunChild, top, kFlags, plan, pid_fd);
  return *pid < 0 ? errno : 0;
}

// Pointers to the words, and a null pointer.
std::vector<char*> PointersTo(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Our environment without the variables `unset`, and with `added`.
std::vector<char*> EnvironmentWith(const std::vector<std::string>& added,
                                   const std::vector<std::string>& unset) {
  std::vector<char*> all = PointersTo(added);
  all.pop_back();
  const auto is_unset = [&unset](std::string_view variable) {
    const std::string_view name = variable.substr(0, variable.find('='));
    return std::find(unset.begin(), unset.end(), name) != unset.end();
  };
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!is_unset(*variable)) all.push_back(*variable);
  }
  all.push_back(nullptr);
  return all;
}

}  // namespace

int Spawn(const SpawnRequest& request, pid_t* pid, int* pid_fd) {
  const std::vector<char*> argv = PointersTo(request.argv);
  const std::vector<char*> envp = EnvironmentWith(request.environment, request.unset);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  ChildPlan plan{.path = request.path.c_str(),
                 .argv = argv.data(),
                 .envp = envp.data(),
                 .stdin_fd = request.stdin_fd,
                 .stdout_fd = request.stdout_fd,
                 .stderr_fd = request.stderr_fd,
                 .signal_mask = &request.signal_mask,
                 .umask = request.umask};
  // Returns when the child has begun its program or has ended.
  const int error = StartChild(&plan, pid, pid_fd);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) {
    *pid_fd = -1;
    return error;
  }
  if (plan.error != 0) {
    waitpid(*pid, nullptr, 0);
    close(std::exchange(*pid_fd, -1));
  }
  return plan.error;
}

bool IsLackOfResources(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == EAGAIN;
}

int FindProgram(const std::string& name, std::string* path) {
  const auto executable = [](const std::string& candidate) {
    struct stat info = {};
    if (stat(candidate.c_str(), &info) != 0) return errno;
    if (!S_ISREG(info.st_mode)) return EACCES;
    return access(candidate.c_str(), X_OK) == 0 ? 0 : errno;
  };
  if (name.empty()) return ENOENT;
  if (name.find('/') != std::string::npos) {
    *path = name;
    return executable(name);
  }
  const char* const variable = std::getenv("PATH");
  std::string_view rest = variable != nullptr ? variable : "/usr/local/bin:/usr/bin:/bin";
  int result = ENOENT;
  while (true) {
    const size_t end = rest.find(':');
    const std::string_view dir = rest.substr(0, end);
    *path = std::string(dir.empty() ? "." : dir) + "/" + name;
    const int error = executable(*path);
    if (error == 0) return 0;
    if (error == EACCES) result = EACCES;
    if (end == std::string_view::npos) return result;
    rest.remove_prefix(end + 1);
  }
}

}  // namespace wqctl
