// wqctl work: runs a command for each key. Signals, the end of the run, and messages; worker.cc
// processes a single key.
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/wqctl/cli/open_queue.h"
#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/cli/stop_signals.h"
#include "tools/wqctl/text/duration.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/log.h"
#include "tools/wqctl/text/number.h"
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

constexpr const char* kWorkExamples =
    R"(CMD runs once for each key, without a shell. "{}" in its words becomes the key;
if there is none, the key is appended. Exit status 0 of CMD is success; anything
else is a failure, and the key is tried again after a delay that doubles each time.
Ends when nothing is pending or delayed, or the queue is paused. SIGTERM and SIGINT
end it early: no new key is begun, running commands get --grace to finish, the rest
stays in the store. With --follow, other verbs can change the queue during the run.

Examples:
  wqctl work -q files -j 4 -- sha256sum {}
  wqctl work -q pods --max-requeues 5 --timeout 30s -- ./reconcile
  wqctl work -q files -- sh -c 'gzip -k "$1"' _ {})";

struct WorkArgs {
  std::string store_dir;
  std::string queue;
  std::vector<std::string> command;  // Not empty.
  int workers = 1;
  std::optional<uint64_t> max_requeues;
  std::chrono::microseconds base_delay = std::chrono::milliseconds{5};
  std::chrono::microseconds max_delay = std::chrono::seconds{1000};
  std::chrono::microseconds timeout{0};  // 0 is none.
  std::chrono::microseconds grace = std::chrono::seconds{30};
  bool follow = false;
  std::string http_address;  // Empty: none.
  bool http_any_address = false;
  mode_t command_umask = 022;  // The user's own; wqctl's is stricter.
};

// Waits for the end of the workers, and stops them at a signal.
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
    LogWarning(why + ": killing the running commands; their keys stay pending");
    runner_.KillAll();
  }

  const WorkArgs& args_;
  StopSignals& signals_;
  const CommandRunner& runner_;
  StatusLine& status_line_;
  WorkerPool& pool_;
  int signal_ = 0;  // The first signal; 0: none.
  bool killed_ = false;
  Clock::time_point kill_at_ = kNever;
};

void LogSummary(const WorkerPool::Totals& totals, const wq::QueueCounts& counts, bool stopped) {
  // A key that is both delayed and queued counts twice: it has two entries.
  const size_t remaining = counts.queued + counts.processing + counts.delayed;
  LogInfo("succeeded " + std::to_string(totals.succeeded) + ", failed attempts " +
          std::to_string(totals.failed_attempts) + ", quarantined " +
          std::to_string(totals.quarantined) + ", remaining " + std::to_string(remaining));
  if (stopped && remaining > 0) LogInfo("the remaining keys stay in the store for the next run");
  if (totals.quarantined > 0) LogInfo("for keys in quarantine see wqctl quarantine ls");
}

// False, with a message, if the queue is paused and args.follow is not set. Without --follow no
// other process can pause the queue while we own the store, so one check is enough.
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

// The servers for other processes while we own the store. Must be closed before the store.
class Service {
 public:
  // Receives the metrics of the store; null without --http.
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
        LogWarning("other processes cannot change the store during this run: " +
                   wq::EscapeKey(s.message(), 4096));
      }
    }
    if (args_.http_address.empty()) return wq::Status::Ok();
    options.control_socket = false;
    options.http_address = args_.http_address;
    options.http_any_address = args_.http_any_address;
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
  return totals.quarantined > 0 || totals.killed > 0 ? kExitFailure : kExitOk;
}

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

}  // namespace

Command ParseWork(const Input& input) {
  WorkArgs args;
  args.command_umask = input.user_umask;
  VerbParser parser(input,
                    {"Runs a command for each key of a queue.", " -- CMD [ARG...]", kWorkExamples},
                    &args.store_dir);
  AddQueue(&parser, &args.queue);
  AddParsed(&parser, "-j,--workers", "N", "How many commands run at once; default 1",
            "a number from 1 to 1024", ParseNumber<int, 1, 1024>, &args.workers);
  AddParsed(&parser, "--max-requeues", "N",
            "Quarantine a key when it has failed more often than this; default: never", "a number",
            ParseNumber<uint64_t>, &args.max_requeues);
  AddDuration(&parser, "--base-delay",
              "The delay after the first failure; it doubles with each further one; default 5ms",
              &args.base_delay);
  AddDuration(&parser, "--max-delay", "The longest delay; default 1000s", &args.max_delay);
  AddDuration(&parser, "--timeout",
              "Kill a command that runs longer; it counts as failed; default: never",
              &args.timeout);
  AddDuration(&parser, "--grace",
              "How long running commands may continue after SIGTERM or SIGINT; default 30s",
              &args.grace);
  parser.Option("--http", "HOST:PORT",
                "Serve /metrics, /healthz and /readyz on loopback; port 0: any", "an address",
                [&args](const std::string& address) {
                  args.http_address = address;
                  return !address.empty();
                });
  parser.Flag("--http-any-address",
              "Let --http be reachable from other machines, which then may read it",
              &args.http_any_address);
  parser.Flag("--follow", "Keep waiting when no key is left, or while the queue is paused",
              &args.follow);
  parser.Parse();
  if (args.http_any_address && args.http_address.empty()) {
    Usage("--http-any-address goes with --http");
  }
  if (!parser.positionals().empty()) Unexpected(parser.positionals().front());
  if (!input.behind || input.behind->empty()) Usage("which command? Give it behind \"--\"");
  args.command = *input.behind;
  return args;
}

}  // namespace wqctl
