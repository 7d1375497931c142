// wqctl: a store and its queues from the shell. Reference: docs/wqctl.md.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "tools/wqctl/parse.h"
#include "tools/wqctl/text/exit_code.h"

namespace {

// Whether this process has opened the descriptor: none that it was started with has this flag.
bool OpenedHere(int fd) {
  const int flags = fcntl(fd, F_GETFD);
  return flags >= 0 && (flags & FD_CLOEXEC) != 0;
}

// If stdin, stdout or stderr were closed, the next opened file would get its number, and messages
// would be written into the store. So each gets a file; that of stdin cannot be read and that of
// stdout not be written, so that nobody takes it for an empty input or a successful output. A
// library opens one before main, and may use it: if it got such a number, this program is begun
// anew, with all three open.
bool OpenStandardDescriptors(char** argv) {
  constexpr int kModes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
  bool anew = false;
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    const bool opened_here = OpenedHere(fd);
    if (!opened_here && fcntl(fd, F_GETFD) >= 0) continue;
    const int null_fd = open("/dev/null", kModes[fd]);  // The lowest free number: perhaps fd.
    if (null_fd < 0) return false;
    if (opened_here) {
      anew = dup2(null_fd, fd) >= 0;
      close(null_fd);
    }
  }
  if (anew) {
    std::error_code error;  // Not the link itself: it would give the process its name.
    execv(std::filesystem::read_symlink("/proc/self/exe", error).c_str(), argv);
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (!OpenStandardDescriptors(argv)) return wqctl::kExitFailure;
  // A reader that closes its end is then reported as EPIPE, and the store is closed properly.
  std::signal(SIGPIPE, SIG_IGN);
  // A limit on the size of files is then reported as EFBIG, and the store as not durable.
  std::signal(SIGXFSZ, SIG_IGN);
  // As process 1 of a container this process gets orphans, which nobody else waits for: then the
  // kernel forgets them when they end. Only work waits for children, and sees to orphans itself.
  std::signal(SIGCHLD, SIG_IGN);
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }

  // A store is accessible to its user only, whatever mode the user's other files have.
  const mode_t user_umask = umask(077);

  return wqctl::RunCommandLine(std::vector<std::string>(argv + (argc > 0), argv + argc),
                               user_umask);
}
