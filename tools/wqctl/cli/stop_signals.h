// StopSignals: SIGTERM, SIGINT and SIGHUP as a file descriptor, for verbs that run until stopped.
//
//   StopSignals signals;   // Before any thread is started, so that all threads block the signals.
//   poll({signals.fd(), POLLIN, 0}) …
//   if (signals.Take() != 0) …
//
// A signal that is ignored (nohup, a shell's "&") stays ignored. Thread-compatible.
#pragma once

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

namespace wqctl {

class StopSignals {
 public:
  StopSignals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
      struct sigaction action = {};
      sigaction(signal, nullptr, &action);
      if (action.sa_handler != SIG_IGN) sigaddset(&signals, signal);
    }
    pthread_sigmask(SIG_BLOCK, &signals, &mask_before_);
    fd_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~StopSignals() { close(fd_); }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  int fd() const { return fd_; }
  const sigset_t& mask_before() const { return mask_before_; }

  // Returns the next pending signal, or 0.
  int Take() const {
    signalfd_siginfo info;
    return read(fd_, &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
  }

 private:
  int fd_ = -1;
  sigset_t mask_before_ = {};
};

}  // namespace wqctl
