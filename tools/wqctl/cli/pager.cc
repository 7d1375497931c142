#include "tools/wqctl/cli/pager.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/log.h"
#include "tools/wqctl/text/output.h"

namespace wqctl {
namespace {

bool IsInPath(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const size_t colon = rest.find(':');
    const std::string dir(rest.substr(0, colon));
    if (!dir.empty() && access((dir + "/" + program).c_str(), X_OK) == 0) return true;
    rest = colon == std::string_view::npos ? "" : rest.substr(colon + 1);
  }
  return false;
}

// In the child. It keeps our umask, so files saved from the pager are the user's only.
[[noreturn]] void BecomePager(const std::string& command, int from) {
  dup2(from, STDIN_FILENO);
  // Text that fits on the screen stays there after less has ended; colours pass.
  setenv("LESS", "FRX", /*overwrite=*/0);
  std::signal(SIGPIPE, SIG_DFL);
  std::signal(SIGXFSZ, SIG_DFL);
  execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  _exit(127);
}

int WaitFor(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

std::optional<std::string> ChoosePager(const std::optional<std::string>& wanted) {
  if (!OnTerminal()) return std::nullopt;
  std::string pager;
  if (wanted) {
    pager = *wanted;
  } else if (const char* const variable = std::getenv("PAGER")) {
    pager = variable;
  } else if (IsInPath("less")) {
    pager = "less";
  }
  if (pager.empty() || pager == "cat") return std::nullopt;
  return pager;
}

int Run(const Paged& paged) {
  std::array<int, 2> ends = {-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return paged.command();
  const pid_t pager = fork();
  if (pager == 0) BecomePager(paged.pager, ends[0]);
  const pid_t producer = pager < 0 ? -1 : fork();
  if (producer == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    std::exit(paged.command());
  }
  close(ends[0]);
  close(ends[1]);
  if (pager < 0) return paged.command();
  // The terminal's signals are for the two children; this process only waits for them.
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGQUIT, SIG_IGN);
  const int status = producer < 0 ? 0 : WaitFor(producer);
  WaitFor(pager);
  if (producer < 0) {
    LogError("cannot make a process for the pager: see --no-pager");
    return kExitFailure;
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  std::signal(WTERMSIG(status), SIG_DFL);
  std::raise(WTERMSIG(status));
  return kExitFailure;
}

}  // namespace wqctl
