#include "tools/bench/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "tools/bench/bench.h"

extern char** environ;

namespace wq::bench {
namespace {

volatile std::sig_atomic_t ending = 0;
void NoteEndSignal(int) { ending = 1; }

// Without SA_RESTART, so that a read or a wait is interrupted, and Wait checks `ending`.
void WatchSignals() {
  struct sigaction action {};
  action.sa_handler = NoteEndSignal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

Child::Child(const std::string& program, const std::vector<std::string>& arguments, Group group)
    : group_(group) {
  std::array<int, 2> pipe_ends{};
  Require(pipe2(pipe_ends.data(), O_CLOEXEC) == 0, "pipe");
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  if (group == Group::kOwn) {
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
  }
  const int error =
      posix_spawn(&pid_, program.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  started_ = pid_;
  close(pipe_ends[1]);
  stdout_ = pipe_ends[0];
  Require(error == 0, "cannot start " + program);
}

Child::~Child() {
  Kill();
  close(stdout_);
}

std::string Child::ReadLine() {
  std::string line;
  for (char c = 0; read(stdout_, &c, 1) == 1 && c != '\n';) {
    line += c;
  }
  return line;
}

std::string Child::ReadAll() {
  std::string all;
  std::array<char, 65536> part{};
  for (ssize_t got = 0; (got = read(stdout_, part.data(), part.size())) > 0;) {
    all.append(part.data(), static_cast<size_t>(got));
  }
  return all;
}

int Child::Wait() {
  int status = 0;
  if (pid_ < 0 || ending != 0) {
    Kill();
    return 128 + SIGKILL;
  }
  if (waitpid(pid_, &status, 0) != pid_) {
    Kill();
    return 128 + SIGKILL;
  }
  pid_ = -1;
  KillGroup();
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void Child::Kill() {
  if (pid_ < 0) {
    return;
  }
  kill(pid_, SIGKILL);
  KillGroup();
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

void Child::KillGroup() const {
  if (group_ == Group::kOwn) {
    kill(-started_, SIGKILL);
  }
}

FreshDirectory::FreshDirectory(const std::string& parent) {
  WatchSignals();
  path_ = (parent.empty() ? std::filesystem::temp_directory_path().string() : parent) +
          "/wqbench-XXXXXX";
  Require(mkdtemp(path_.data()) != nullptr, "cannot create a directory " + path_);
}

FreshDirectory::~FreshDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace wq::bench
