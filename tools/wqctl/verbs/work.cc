// wqctl work: runs a command for each key. The signals, the end, and the words about it; what a
// worker does with one key is worker.cc.
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tools/wqctl/cli/open_queue.h"
#include "tools/wqctl/cli/stop_signals.h"
#include "tools/wqctl/text/duration.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/log.h"
#include "tools/wqctl/verbs/verbs.h"
#include "tools/wqctl/work/runner.h"
#include "tools/wqctl/work/status_line.h"
#include "tools/wqctl/work/worker.h"
#include "wq/keys.h"
#include "wq/limiter.h"
#include "wq/prometheus.h"
#include "wq/queue.h"
#include "wq/server.h"

namespace wqctl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Clock::time_point kNever = Clock::time_point::max();
constexpr auto kProgressInterval = std::chrono::milliseconds{200};

// Waits until the workers have ended, and ends them when that is asked for.
class Supervisor {
 public:
  Supervisor(const WorkArgs& args, StopSignals* signals, const CommandRunner& runner,
             StatusLine* status_line, WorkerPool* pool)
      : args_(args),
        signals_(*signals),
        runner_(runner),
        status_line_(*status_line),
        pool_(*pool) {}

  void Run() {
    while (!pool_.AllEnded()) {
      std::array<pollfd, 2> fds = {pollfd{signals_.fd(), POLLIN, 0},
                                   pollfd{pool_.event_fd(), POLLIN, 0}};
      poll(fds.data(), fds.size(), PollTimeout());
      while (const int signal = signals_.Take()) OnSignal(signal);
      pool_.ClearEvent();
      if (pool_.Stopping() && kill_at_ == kNever && !killed_) kill_at_ = Clock::now() + args_.grace;
      if (Clock::now() >= kill_at_) KillAll("the grace period is over");
      if (status_line_.enabled()) status_line_.Show(pool_.ProgressText());
    }
    status_line_.Show("");
  }

  int signal() const { return signal_; }

 private:
  int PollTimeout() const {
    auto timeout = std::chrono::milliseconds{-1};
    if (status_line_.enabled()) timeout = kProgressInterval;
    if (kill_at_ != kNever) {
      const auto left =
          std::max(std::chrono::ceil<std::chrono::milliseconds>(kill_at_ - Clock::now()),
                   std::chrono::milliseconds{0});
      timeout = timeout.count() < 0 ? left : std::min(timeout, left);
    }
    return static_cast<int>(std::min<int64_t>(timeout.count(), 60'000));
  }

  void OnSignal(int signal) {
    if (signal_ != 0) return KillAll("a second signal");
    signal_ = signal;
    const size_t busy = pool_.Stop();
    status_line_.Show("");
    LogInfo("SIG" + std::string(sigabbrev_np(signal)) + ": no new key is begun; " +
            std::to_string(busy) + " running, which get " + FormatDuration(args_.grace));
  }

  void KillAll(const std::string& why) {
    kill_at_ = kNever;
    if (std::exchange(killed_, true)) return;
    status_line_.Show("");
    LogWarning(why + ": killing what still runs; those keys stay pending");
    runner_.KillAll();
  }

  const WorkArgs& args_;
  StopSignals& signals_;
  const CommandRunner& runner_;
  StatusLine& status_line_;
  WorkerPool& pool_;
  int signal_ = 0;  // The first one that came.
  bool killed_ = false;
  Clock::time_point kill_at_ = kNever;
};

void LogSummary(const WorkerPool::Totals& totals, const wq::QueueCounts& counts, bool stopped) {
  // A key that is delayed and queued at once counts twice, as it is two entries.
  const size_t remaining = counts.queued + counts.processing + counts.delayed;
  LogInfo("succeeded " + std::to_string(totals.succeeded) + ", failed attempts " +
          std::to_string(totals.failed_attempts) + ", given up " + std::to_string(totals.given_up) +
          ", remaining " + std::to_string(remaining));
  if (stopped && remaining > 0)
    LogInfo("what remains stays in the store, and is worked on next time");
  if (totals.given_up > 0) LogInfo("what was given up is in quarantine: see wqctl quarantine ls");
}

// Whether there is anything to do, or to wait for; says why not. Without --follow nobody can pause the
// queue while we have the store, so it is enough to look once.
bool MayBegin(const WorkArgs& args, const wq::Queue& queue) {
  const wq::QueueCounts counts = queue.Counts();
  if (!counts.paused) return true;
  const std::string paused = "queue \"" + wq::EscapeKey(args.queue) + "\" is paused: ";
  if (args.follow) {
    LogInfo(paused + "waiting for the end of the pause");
    return true;
  }
  LogInfo(paused + std::to_string(counts.queued + counts.delayed) +
          " keys stay in the store; wqctl resume ends a pause, --follow waits for its end");
  return false;
}

// What others may see and change while we have the store. Closed before the store is.
class Service {
 public:
  // Where the metrics of the store go; null if nobody can see them.
  const std::shared_ptr<wq::PrometheusProvider>& metrics() const { return metrics_; }
  explicit Service(const WorkArgs& args)
      : args_(args), metrics_(args.http_address.empty() ? nullptr : wq::MakePrometheusProvider()) {}

  wq::Status Open(wq::Store* store) {
    wq::ServerOptions options;
    options.open_queue = [store](std::string_view name, bool create, wq::Queue** queue) {
      wq::QueueOptions queue_options = ToolQueueOptions();
      queue_options.create_if_missing = create;
      return store->OpenQueue(name, queue_options, queue);
    };
    if (args_.follow) {
      options.control_socket = true;
      if (wq::Status s = wq::Server::Open(store, options, &control_); !s.ok()) {
        LogWarning("others cannot change the store meanwhile: " + wq::EscapeKey(s.message(), 4096));
      }
    }
    if (args_.http_address.empty()) return wq::Status::Ok();
    options.control_socket = false;
    options.http_address = args_.http_address;
    options.metrics = [metrics = metrics_] { return wq::PrometheusText(*metrics); };
    wq::Status s = wq::Server::Open(store, options, &http_);
    if (s.ok()) LogInfo("serving metrics on port " + std::to_string(http_->http_port()));
    return s;
  }
  void Close() {
    control_.reset();
    http_.reset();
  }

 private:
  const WorkArgs& args_;
  const std::shared_ptr<wq::PrometheusProvider> metrics_;
  std::unique_ptr<wq::Server> control_;
  std::unique_ptr<wq::Server> http_;
};

int WorkOn(const WorkArgs& args, StopSignals* signals, const CommandRunner& runner,
           StatusLine* status_line, wq::Queue* queue) {
  if (!MayBegin(args, *queue)) return kExitOk;
  const WorkerOptions options{
      .workers = args.workers, .no_requeues = args.max_requeues == 0U, .follow = args.follow};
  WorkerPool pool(options, runner, status_line, queue);
  Supervisor supervisor(args, signals, runner, status_line, &pool);
  pool.Start();
  supervisor.Run();
  pool.Join();

  const WorkerPool::Totals totals = pool.totals();
  LogSummary(totals, queue->Counts(), supervisor.signal() != 0);
  if (!pool.error().ok()) return Fail(pool.error());
  return totals.given_up > 0 || totals.killed > 0 ? kExitFailure : kExitOk;
}

}  // namespace

int Run(const WorkArgs& args) {
  StopSignals signals;
  if (signals.fd() < 0) return Fail(wq::Status::IOError("signalfd failed"));
  StatusLine status_line;
  std::unique_ptr<CommandRunner> runner;
  const CommandOptions command{
      .command = args.command,
      .timeout = args.timeout,
      .signal_mask = signals.mask_before(),
      .umask = args.command_umask,
      .write_stderr = [&](std::string_view text) { status_line.Write(text); }};
  if (const int error = CommandRunner::Create(command, &runner); error != 0) {
    LogError("cannot run \"" + wq::EscapeKey(args.command.front()) + "\": " + ErrnoText(error));
    return kExitFailure;
  }

  wq::QueueOptions options = ToolQueueOptions();
  options.create_if_missing = false;
  options.max_requeues = args.max_requeues.value_or(0);
  options.limiter = std::make_shared<wq::ItemExponentialFailure>(args.base_delay, args.max_delay);
  OpenedQueue opened;
  Service service(args);
  if (wq::Status s = OpenQueue(args.store_dir, args.queue, options, service.metrics(), &opened);
      !s.ok()) {
    return Fail(s);
  }
  if (wq::Status s = service.Open(opened.store.get()); !s.ok()) return Fail(s);
  int code = WorkOn(args, &signals, *runner, &status_line, opened.queue);
  service.Close();
  if (wq::Status s = opened.store->Close(); code == kExitOk && !s.ok()) code = Fail(s);
  return code;
}

}  // namespace wqctl
