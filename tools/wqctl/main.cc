// wqctl: a store and its queues from the shell. Reference: docs/wqctl.md.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <variant>
#include <vector>

#include "tools/wqctl/parse.h"
#include "tools/wqctl/text/exit_code.h"

namespace {

// If stdin, stdout or stderr were closed, the next opened file would get its number, and messages
// would be written into the store.
bool OpenStandardDescriptors() {
  int fd = 0;
  do {
    fd = open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd < 0) return false;
  close(fd);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (!OpenStandardDescriptors()) return wqctl::kExitFailure;
  // A reader that closes its end is then reported as EPIPE, and the store is closed properly.
  std::signal(SIGPIPE, SIG_IGN);
  // A limit on the size of files is then reported as EFBIG, and the store as not durable.
  std::signal(SIGXFSZ, SIG_IGN);
  // If it is ignored, waitpid does not report how a child ended: the outcome of every command would
  // be lost.
  std::signal(SIGCHLD, SIG_DFL);

  // A store is accessible to its user only, whatever mode the user's other files have.
  const mode_t user_umask = umask(077);

  const auto parsed =
      wqctl::ParseCommandLine(std::vector<std::string>(argv + (argc > 0), argv + argc), user_umask);
  if (const int* code = std::get_if<int>(&parsed)) return *code;
  return std::get<wqctl::Command>(parsed)();
}
