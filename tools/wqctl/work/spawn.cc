#include "tools/wqctl/work/spawn.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

namespace wqctl {
namespace {

// Prepared before the child exists: it shares our memory until it execs, so it must neither
// allocate nor change anything.
struct ChildPlan {
  const char* path;
  char* const* argv;
  int stdin_fd;
  int stderr_fd;
  int error_fd;  // Receives the errno of a failed call; closed by a successful exec.
  const sigset_t* signal_mask;
  mode_t umask;
  pid_t parent;
};

// Only async-signal-safe calls. All signals are blocked, so no handler of ours runs here.
[[noreturn]] void RunChild(const ChildPlan& plan) {
  // With setpgid alone the child would be in the terminal's background, and be stopped for good
  // when it uses the terminal. If the parent died before prctl, no signal would kill this child:
  // getppid checks that.
  const bool ready = setsid() >= 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
                     getppid() == plan.parent && dup2(plan.stdin_fd, STDIN_FILENO) >= 0 &&
                     dup2(plan.stderr_fd, STDERR_FILENO) >= 0;
  if (ready) {
    umask(plan.umask);
    struct sigaction normal = {};
    normal.sa_handler = SIG_DFL;
    // wqctl ignores these two.
    sigaction(SIGPIPE, &normal, nullptr);
    sigaction(SIGXFSZ, &normal, nullptr);
    sigprocmask(SIG_SETMASK, plan.signal_mask, nullptr);
    execve(plan.path, plan.argv, environ);
  }
  const int error = errno;
  if (write(plan.error_fd, &error, sizeof error) < 0) _exit(126);
  _exit(127);
}

// A separate function, so that no local variable of the caller lives across vfork.
[[gnu::noinline]] pid_t Vfork(const ChildPlan& plan) {
  const pid_t pid = vfork();
  if (pid == 0) RunChild(plan);
  return pid;
}

}  // namespace

int Spawn(const SpawnRequest& request, pid_t* pid) {
  std::vector<char*> argv;
  argv.reserve(request.argv.size() + 1);
  for (const std::string& word : request.argv) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  int error_pipe[2];
  if (pipe2(error_pipe, O_CLOEXEC) != 0) return errno;

  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const ChildPlan plan{request.path.c_str(), argv.data(),   request.stdin_fd,
                       request.stderr_fd,    error_pipe[1], &request.signal_mask,
                       request.umask,        getpid()};
  const pid_t child = Vfork(plan);
  int error = child < 0 ? errno : 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  close(error_pipe[1]);
  if (child > 0) {
    int child_error = 0;
    ssize_t n = 0;
    do {
      n = read(error_pipe[0], &child_error, sizeof child_error);
    } while (n < 0 && errno == EINTR);
    if (n == sizeof child_error) {
      error = child_error;
      waitpid(child, nullptr, 0);
    }
  }
  close(error_pipe[0]);
  *pid = child;
  return error;
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
