#include "tests/support/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "tests/support/wait.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace wq::support {

std::string ProgramBesideThis(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename(name);
}

Child::Child(std::vector<std::string> arguments) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    std::abort();
  }
  std::vector<char*> argv;
  for (std::string& argument : arguments) {
    argv.push_back(argument.data());
  }
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  if (posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ) != 0) {
    std::abort();
  }
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  out_ = ends[0];
}

Child::~Child() {
  if (!reaped_) {
    Signal(SIGKILL);
    Wait();
  }
  close(out_);
}

bool Child::Read(std::chrono::microseconds patience) {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(patience);
  const timespec timeout = {
      .tv_sec = whole.count(),
      .tv_nsec = std::chrono::nanoseconds(patience - whole).count(),
  };
  pollfd ready{.fd = out_, .events = POLLIN, .revents = 0};
  if (ppoll(&ready, 1, &timeout, nullptr) <= 0) {
    return true;
  }
  char buffer[16384];
  const ssize_t n = read(out_, buffer, sizeof buffer);
  if (n > 0) {
    output_.append(buffer, static_cast<size_t>(n));
  }
  return n > 0 || (n < 0 && errno == EINTR);
}

bool Child::ReadUntil(const std::string& text) {
  while (output_.find(text) == std::string::npos) {
    if (!Read(kPatience)) {
      return output_.find(text) != std::string::npos;
    }
  }
  return true;
}

int Child::Wait() {
  while (!reaped_ && Read(kPatience)) {
  }
  if (!reaped_) {
    waitpid(pid_, &wait_status_, 0);
    reaped_ = true;
  }
  return wait_status_;
}

void Child::Signal(int signal) const {
  if (!reaped_) {
    kill(pid_, signal);
  }
}

}  // namespace wq::support
