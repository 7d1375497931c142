#include "tools/wqctl/signals/stop_signals.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <system_error>

namespace wqctl {
namespace {

constexpr std::array kStopSignals = {SIGINT, SIGTERM, SIGHUP};
constexpr std::string_view kTooSlow =
    "wqctl: warning: it did not end within 8 s of the signal, and is ended now: what was "
    "acknowledged is in the store\n";
static_assert(kStopTime == std::chrono::seconds{8});

volatile std::sig_atomic_t interrupted_by = 0;

bool IsIgnored(int signal) {
  struct sigaction action = {};
  sigaction(signal, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

// Ends the process as the signal would have without wqctl. Async-signal-safe.
void EndBy(int signal) {
  std::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  // Not raise(): pending at the process, any thread may take it.
  kill(getpid(), signal);
}

void SayTooSlow() {
  // Where nobody reads it, the end is what matters.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kTooSlow.data(), kTooSlow.size());
}

extern "C" void NoteInterrupt(int signal) {
  if (interrupted_by != 0) return EndBy(signal);
  interrupted_by = signal;
  alarm(static_cast<unsigned>(kStopTime.count()));
}

extern "C" void EndInterrupted(int) {
  SayTooSlow();
  EndBy(interrupted_by);
}

}  // namespace

InterruptScope::InterruptScope() {
  struct sigaction action = {};
  action.sa_handler = EndInterrupted;
  sigaction(SIGALRM, &action, nullptr);
  action.sa_handler = NoteInterrupt;
  // Not SA_RESTART: a blocked read or write must return.
  for (const int signal : kStopSignals) {
    if (!IsIgnored(signal)) sigaction(signal, &action, nullptr);
  }
}

InterruptScope::~InterruptScope() {
  for (const int signal : kStopSignals) {
    if (!IsIgnored(signal)) std::signal(signal, SIG_DFL);
  }
  if (Interrupted()) std::raise(interrupted_by);
}

bool Interrupted() { return interrupted_by != 0; }

StopSignals::StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : kStopSignals) {
    if (!IsIgnored(signal)) sigaddset(&signals, signal);
  }
  pthread_sigmask(SIG_BLOCK, &signals, &mask_before_);
  fd_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

StopSignals::~StopSignals() { close(fd_); }

int StopSignals::Take() const {
  signalfd_siginfo info;
  return read(fd_, &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

bool StopSignals::WaitFor(std::chrono::microseconds time) const {
  pollfd fd = {fd_, POLLIN, 0};
  const int64_t ms = std::chrono::ceil<std::chrono::milliseconds>(time).count();
  poll(&fd, 1, static_cast<int>(std::min<int64_t>(ms, INT32_MAX)));
  return Take() == 0;
}

StopGuard::StopGuard(const StopSignals& signals, During during)
    : signals_(signals), done_(eventfd(0, EFD_CLOEXEC)) {
  if (done_ < 0) return;  // Nothing could end the thread.
  try {
    watcher_ = std::thread([this, during] { Watch(during); });
  } catch (const std::system_error&) {
  }
}

StopGuard::~StopGuard() {
  if (watcher_.joinable()) {
    eventfd_write(done_, 1);
    watcher_.join();
  }
  if (done_ >= 0) close(done_);
  if (hangup_) kill(getpid(), SIGHUP);
}

void StopGuard::Watch(During during) {
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> end;
  if (during == During::kStopped) end = Clock::now() + kStopTime;
  while (true) {
    std::array<pollfd, 2> ready = {pollfd{signals_.fd(), POLLIN, 0}, pollfd{done_, POLLIN, 0}};
    int timeout_ms = -1;
    if (end) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*end - Clock::now());
      timeout_ms = std::max(0, static_cast<int>(left.count()));
    }
    poll(ready.data(), ready.size(), timeout_ms);
    if (ready[1].revents != 0) return;
    if (end && Clock::now() >= *end) {
      SayTooSlow();
      _exit(EXIT_FAILURE);
    }
    const int signal = signals_.Take();
    if (signal != 0 && during == During::kShowing) _exit(EXIT_SUCCESS);
    if (signal == SIGHUP) hangup_ = true;
    if (signal == 0 || signal == SIGHUP) continue;
    if (during == During::kOpening || end) EndBy(signal);
    if (!end) end = Clock::now() + kStopTime;
  }
}

}  // namespace wqctl
