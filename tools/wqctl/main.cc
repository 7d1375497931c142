// wqctl: a store and its queues from the shell. docs/wqctl.md is its reference.
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

// A closed stdin, stdout or stderr would give its number to the next file that is opened, and
// messages would be written into the store.
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
  // A reader that goes away is seen as EPIPE, so that what is open gets closed properly.
  std::signal(SIGPIPE, SIG_IGN);
  // So is a limit on the size of files, as EFBIG: the store says that it is not durable.
  std::signal(SIGXFSZ, SIG_IGN);
  // Who ignores it has no children to wait for: the outcome of every command would be lost.
  std::signal(SIGCHLD, SIG_DFL);

  // A store is its owner's business, whatever files the user makes elsewhere.
  const mode_t user_umask = umask(077);

  const auto parsed =
      wqctl::ParseCommandLine(std::vector<std::string>(argv + (argc > 0), argv + argc), user_umask);
  if (const int* code = std::get_if<int>(&parsed)) return *code;
  return std::get<wqctl::Command>(parsed)();
}
