#include "tests/failover/replicas.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string_view>
#include <utility>

#include "tests/support/child.h"

namespace wq::failover {

Replicas::Replicas(EtcdOptions etcd, size_t count, std::chrono::milliseconds lease)
    : etcd_(std::move(etcd)), lease_(lease), pids_(count, 0) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    std::abort();
  }
  read_end_ = ends[0];
  write_end_ = ends[1];
  reader_ = std::thread([this] { Read(); });
}

Replicas::~Replicas() {
  for (size_t i = 0; i < size(); ++i) {
    Kill(i);
  }
  close(write_end_);
  reader_.join();
  close(read_end_);
}

void Replicas::Read() {
  std::string text;
  char buffer[16384];
  for (ssize_t n = 0; (n = read(read_end_, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
    size_t begin = 0;
    for (size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
      oracle_.Take(std::string_view(text).substr(begin, end - begin));
    }
    text.erase(0, begin);
  }
}

void Replicas::Start(size_t replica) {
  if (Runs(replica)) {
    return;
  }
  std::string endpoints;
  for (const std::string& endpoint : etcd_.endpoints) {
    endpoints += (endpoints.empty() ? "" : ",") + endpoint;
  }
  std::vector<std::string> words = {support::ProgramBesideThis("failover_child"),
                                    std::to_string(getpid()),
                                    Dir(replica),
                                    NameOf(replica),
                                    endpoints,
                                    etcd_.prefix,
                                    std::to_string(lease_.count())};
  std::vector<char*> arguments;
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {  // Only calls that are safe after a fork of a process with threads.
    dup2(write_end_, STDOUT_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  if (pid < 0) {
    std::abort();
  }
  pids_[replica] = pid;
}

void Replicas::StartAll() {
  for (size_t i = 0; i < size(); ++i) {
    Start(i);
  }
}

void Replicas::Signal(size_t replica, int signal) const {
  if (Runs(replica)) {
    kill(pids_[replica], signal);
  }
}

void Replicas::Stop(size_t replica) {
  Signal(replica, SIGSTOP);
  waitpid(pids_[replica], nullptr, WUNTRACED);
}

void Replicas::Kill(size_t replica) {
  if (const pid_t pid = std::exchange(pids_[replica], 0); pid != 0) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
}

int Replicas::Reap(size_t replica, std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  int status = 0;
  if (!Runs(replica)) {
    return -1;
  }
  while (waitpid(pids_[replica], &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > until) {
      return -1;
    }
    poll(nullptr, 0, 5);
  }
  pids_[replica] = 0;
  return status;
}

void Replicas::Wipe(size_t replica) const { std::filesystem::remove_all(Dir(replica)); }

}  // namespace wq::failover
