#include "tools/wqctl/work/supervisor.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "tools/wqctl/text/duration.h"
#include "tools/wqctl/text/log.h"

namespace wqctl {
namespace {

constexpr auto kProgressInterval = std::chrono::milliseconds{200};
constexpr auto kWaitCheckInterval = std::chrono::milliseconds{500};
constexpr auto kSilentWait = std::chrono::seconds{1};

}  // namespace

Supervisor::Supervisor(const Options& options, StopSignals* signals, const CommandRunner& runner,
                       OutputPrinter* printer, WorkerPool* pool)
    : grace_(options.grace),
      report_wait_(options.report_wait && !shows_line_),
      signals_(*signals),
      runner_(runner),
      printer_(*printer),
      pool_(*pool) {}

void Supervisor::Run() {
  std::array<pollfd, 3> fds = {pollfd{signals_.fd(), POLLIN, 0},
                               pollfd{pool_.event_fd(), POLLIN, 0},
                               pollfd{STDOUT_FILENO, 0, 0}};  // Only errors.
  while (!pool_.AllEnded()) {
    poll(fds.data(), fds.size(), PollTimeout());
    while (const int signal = signals_.Take()) OnSignal(signal);
    if (fds[2].fd >= 0 && (fds[2].revents & (POLLERR | POLLHUP)) != 0) {
      fds[2].fd = -1;
      pool_.Stop(StopReason::kOutputGone);
    }
    pool_.ClearEvent();
    if (!stop_seen_ && pool_.stop_reason() != StopReason::kNone) OnStop();
    if (Clock::now() >= kill_at_) KillAll("the grace period is over");
    if (shows_line_) ShowLine(pool_.ProgressText());
    if (report_wait_) ReportWait();
  }
  EraseProgress();
}

int Supervisor::PollTimeout() const {
  auto timeout = std::chrono::milliseconds{-1};
  if (shows_line_) timeout = kProgressInterval;
  if (report_wait_) timeout = kWaitCheckInterval;
  if (kill_at_ != Clock::time_point::max()) {
    const auto left =
        std::max(std::chrono::ceil<std::chrono::milliseconds>(kill_at_ - Clock::now()),
                 std::chrono::milliseconds{0});
    timeout = timeout.count() < 0 ? left : std::min(timeout, left);
  }
  return static_cast<int>(std::min<int64_t>(timeout.count(), 60'000));
}

void Supervisor::OnSignal(int signal) {
  if (signal_ != 0) return KillAll("a second signal");
  signal_ = signal;
  const int busy = pool_.Stop(StopReason::kSignal);
  LogInfo("SIG" + std::string(sigabbrev_np(signal)) + ": no new key is begun; " +
          std::to_string(busy) + " running, which get " + FormatDuration(grace_));
  kill_at_ = std::min(kill_at_, Clock::now() + grace_);
}

void Supervisor::OnStop() {
  stop_seen_ = true;
  switch (pool_.stop_reason()) {
    case StopReason::kOutputGone: {
      const int error = printer_.error() > 0 ? printer_.error() : StdoutError();
      LogError("cannot write to standard output: " + ErrnoText(error > 0 ? error : EPIPE) +
               "; no new key is begun, and no failure is counted");
      break;
    }
    case StopReason::kNotOwner:
      LogInfo("no new key is begun; the commands that run get " + FormatDuration(grace_) +
              ", and their keys stay in the queue for the next owner");
      break;
    case StopReason::kNone:
    case StopReason::kSignal:
    case StopReason::kError:
      break;
  }
  kill_at_ = std::min(kill_at_, Clock::now() + grace_);
}

void Supervisor::KillAll(const std::string& why) {
  kill_at_ = Clock::time_point::max();
  if (std::exchange(killed_, true)) return;
  LogWarning(why + ": killing the running commands; their keys stay pending");
  runner_.KillAll();
  printer_.Cancel();
}

void Supervisor::ReportWait() {
  const Clock::time_point now = Clock::now();
  const WorkerPool::Totals totals = pool_.totals();
  const uint64_t attempts = totals.succeeded + totals.failed_attempts;
  const std::string text = pool_.WaitText();
  if (text.empty() || attempts != attempts_seen_) {
    attempts_seen_ = attempts;
    waiting_since_ = now;
    wait_reported_ = false;
  } else if (!wait_reported_ && !stop_seen_ && now - waiting_since_ >= kSilentWait) {
    wait_reported_ = true;
    LogInfo(text);
  }
}

}  // namespace wqctl
