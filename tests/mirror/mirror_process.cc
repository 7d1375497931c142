#include "tests/mirror/mirror_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

namespace wq {

MirrorProcess::MirrorProcess(const std::string& source, const std::string& target,
                             const std::string& store, const std::vector<std::string>& options) {
  std::vector<std::string> args = {WQ_MIRROR, source, target, "--store", store};
  args.insert(args.end(), options.begin(), options.end());
  std::vector<char*> argv;
  for (std::string& arg : args) {
    argv.push_back(arg.data());
  }
  argv.push_back(nullptr);
  int fds[2];
  EXPECT_EQ(pipe2(fds, O_CLOEXEC), 0);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(fds[1], STDOUT_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(fds[1]);
  out_ = fds[0];
}

MirrorProcess::~MirrorProcess() {
  if (pid_ > 0) {
    Kill();
  }
  close(out_);
}

std::optional<std::string> MirrorProcess::Line(std::string_view start,
                                               std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  for (;;) {
    for (size_t end = 0; (end = unread_.find('\n')) != std::string::npos;) {
      const std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      if (line.starts_with(start)) {
        return line;
      }
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    pollfd ready{.fd = out_, .events = POLLIN, .revents = 0};
    char buffer[4096];
    if (poll(&ready, 1, std::max(0, static_cast<int>(left.count()))) <= 0) {
      return std::nullopt;
    }
    const ssize_t n = read(out_, buffer, sizeof buffer);
    if (n <= 0) {
      ended_ = true;
      return std::nullopt;
    }
    unread_.append(buffer, static_cast<size_t>(n));
  }
}

void MirrorProcess::Send(int signal) const { kill(pid_, signal); }

int MirrorProcess::Wait() {
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int MirrorProcess::Kill() {
  Send(SIGKILL);
  return Wait();
}

std::string TreeText(const std::string& root) {
  namespace fs = std::filesystem;
  std::vector<std::string> lines;
  std::error_code error;
  fs::recursive_directory_iterator it(root, error);
  while (!error && it != fs::recursive_directory_iterator()) {
    const std::string path = it->path().lexically_relative(root).string();
    struct stat st = {};
    if (path == ".wq-mirror") {
      it.disable_recursion_pending();
    } else if (lstat(it->path().c_str(), &st) == 0) {
      std::string line = path + " " + std::to_string(st.st_mode) + " ";
      if (S_ISLNK(st.st_mode)) {
        line += fs::read_symlink(it->path(), error).string();
      } else if (S_ISREG(st.st_mode)) {
        std::ifstream in(it->path(), std::ios::binary);
        line.append(std::istreambuf_iterator<char>(in), {});
      }
      lines.push_back(std::move(line));
    }
    it.increment(error);  // The mirror may be changing the tree.
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) {
    text += line + "\n";
  }
  return text;
}

}  // namespace wq
