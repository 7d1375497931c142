// wqctl work: runs a command for each key. Options, opening and the summary; worker.cc processes a
// single key, supervisor.cc ends the run.
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutant.h"
#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/cli/queues.h"
#include "tools/wqctl/process/reaper.h"
#include "tools/wqctl/replication/log_args.h"
#include "tools/wqctl/replication/ownership.h"
#include "tools/wqctl/signals/stop_signals.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/log.h"
#include "tools/wqctl/text/number.h"
#include "tools/wqctl/text/output.h"
#include "tools/wqctl/work/command_line.h"
#include "tools/wqctl/work/key_source.h"
#include "tools/wqctl/work/output.h"
#include "tools/wqctl/work/runner.h"
#include "tools/wqctl/work/supervisor.h"
#include "tools/wqctl/work/work_store.h"
#include "tools/wqctl/work/worker.h"
#include "wq/keys.h"
#include "wq/queue.h"
#include "wq/store_view.h"

namespace wqctl {
namespace {

// How long to wait for a process that owns the store to serve it, or to end.
constexpr auto kOpenTime = std::chrono::seconds{2};
constexpr int kOpenRetryMs = 20;

constexpr const char* kWorkExamples =
    R"(CMD runs once for each key, without a shell. In its words "{}" becomes the key; if
there is none, the key is appended. The environment has WQ_KEY, WQ_QUEUE, WQ_ATTEMPT
and WQ_TOKEN, a number that grows with every attempt: a store that keeps the last
one that it has seen can refuse the writes of an earlier attempt that still runs.
Exit status 0 of CMD is success; anything else is a failure, and the key is tried
again after a delay that doubles each time.
Ends when nothing is pending or delayed, or the queue is paused. SIGTERM and SIGINT
end it early: no new key is begun, running commands get --grace to finish, the rest
stays in the store. A stdout that has no reader any more ends it too, with exit code 1.
A command that is ended, or whose wqctl is killed, ends with all that it has started,
before its key is handed out again.
Any number of wqctl work can share a store: the first one owns it and serves it to the
others, and when it ends, one of the others takes over. See wqctl workers.
With --replicate the store is one of several replicas, on machines of their own: run the
same command on each of them. It works while it owns the store, and waits otherwise.

Examples:
  wqctl work -q files -j 4 --tag -- sha256sum {}
  wqctl work -q pods --max-requeues 5 --timeout 30s -- ./reconcile
  wqctl work -q pods --replicate etcd://10.0.0.1:2379/wq/pods --follow -- ./reconcile
  wqctl work -q files -- sh -c 'gzip -k "$1"' _ {})";

struct WorkArgs {
  WorkStoreOptions store;            // Without the parts of a run.
  std::vector<std::string> command;  // Not empty.
  OutputOptions output;
  bool key_on_stdin = false;
  bool dry_run = false;
  std::chrono::microseconds timeout{0};  // 0 is none.
  std::chrono::microseconds grace = std::chrono::seconds{30};
  LogArgs log;
  std::optional<wq::Durability> durability;
  mode_t command_umask = 022;  // The user's own; wqctl's is stricter.
};

// What is left to do. A key that is both delayed and queued counts twice: it has two entries.
uint64_t Remaining(const wq::QueueCounts& counts) {
  return counts.queued + counts.processing + counts.delayed;
}

void LogSummary(const WorkerPool::Totals& totals, const std::optional<wq::QueueCounts>& counts,
                bool stopped) {
  const uint64_t remaining = counts ? Remaining(*counts) : 0;
  LogInfo("succeeded " + std::to_string(totals.succeeded) + ", failed attempts " +
          std::to_string(totals.failed_attempts) + ", quarantined " +
          std::to_string(totals.quarantined) + ", remaining " +
          (counts ? std::to_string(remaining) : "unknown"));
  if (stopped && remaining > 0) LogInfo("the remaining keys stay in the store for the next run");
  if (totals.quarantined > 0) LogInfo("for keys in quarantine see wqctl ls --state quarantined");
}

int ExitCodeOf(const WorkerPool& pool) {
  const WorkerPool::Totals totals = pool.totals();
  const bool quarantined = totals.quarantined > 0 && !WQ_MUTANT(quarantined_is_success);
  const bool incomplete = quarantined || totals.unrecorded > 0;
  return incomplete || pool.stop_reason() == StopReason::kOutputGone ? kExitFailure : kExitOk;
}

void LogHealth(const wq::Status& health) {
  if (health.ok()) {
    LogInfo("the store has recovered, and has all outcomes");
  } else {
    LogWarning(
        "the store has failed; no new key is begun until it has recovered, which it does by "
        "itself when it can be written again: " +
        wq::EscapeKey(health.message(), 4096));
  }
}

// The parts of a run, in the order in which they are made.
struct RunParts {
  RunParts(const WorkArgs& args, std::optional<wq::Replication> replication,
           StopSignals* stop_signals, Reaper* command_reaper)
      : signals(*stop_signals),
        reaper(*command_reaper),
        source({.workers = args.store.workers,
                .follow = args.store.follow,
                .reopen = [this](WorkQueues* queues,
                                 bool* again) { return store.Open(queues, again); },
                .on_health = LogHealth}),
        store(StoreOptionsOf(args, std::move(replication))),
        grace_of_others(args.grace) {}

  WorkStoreOptions StoreOptionsOf(const WorkArgs& args,
                                  std::optional<wq::Replication> replication) {
    WorkStoreOptions options = args.store;
    options.durability = DurabilityOf(args.durability, replication.has_value());
    if (replication) ownership_end.Watch(&*replication);
    options.store.replication = std::move(replication);
    options.on_ready = [this] { source.Wake(); };
    options.stopped = [this] {
      pollfd fd = {signals.fd(), POLLIN, 0};
      return source.stopped() || poll(&fd, 1, 0) != 0;
    };
    return options;
  }

  StopSignals& signals;
  Reaper& reaper;
  KeySource source;
  OwnershipEnd ownership_end;
  WorkStore store;
  std::chrono::microseconds grace_of_others;  // After our own commands.
  StopGuard::During during_close = StopGuard::During::kClosing;
};

// *lost: the ownership has ended, and no signal has.
int WorkOn(const WorkArgs& args, const CommandRunner& runner, RunParts* run, bool* lost) {
  if (run->source.queues().empty()) return kExitOk;  // All are paused.
  OutputPrinter printer(args.output);
  WorkerPool pool(args.store.workers,
                  {.runner = runner, .source = run->source, .printer = printer});
  Supervisor supervisor({.grace = args.grace, .report_wait = !args.store.follow}, &run->signals,
                        runner, &printer, &pool);
  // Before a worker may wait for a key. If the ownership has ended already, the first TryGet says
  // so.
  run->ownership_end.Set([&pool] { pool.Stop(StopReason::kNotOwner); });
  wq::Status started = pool.Start();
  if (started.ok()) supervisor.Run();
  run->ownership_end.Clear();
  if (!started.ok()) return Fail(started);
  if (supervisor.signalled()) run->during_close = StopGuard::During::kStopped;
  if (supervisor.killed()) run->grace_of_others = std::chrono::microseconds{0};
  pool.Join();
  const StopReason reason = pool.stop_reason();
  LogSummary(pool.totals(),
             // The queues of an ownership that has ended know nothing any more.
             reason == StopReason::kNotOwner ? std::nullopt : SumOf(run->source.queues()),
             reason != StopReason::kNone);
  if (!pool.error().ok()) return Fail(pool.error());
  *lost = reason == StopReason::kNotOwner && !supervisor.signalled();
  return ExitCodeOf(pool);
}

// Opens the queues. The owner of the store may just have started, or be about to end: then tries
// again for kOpenTime, unless a signal is pending. An owner whose store has failed is waited for.
wq::Status OpenQueues(RunParts* run) {
  auto give_up = std::chrono::steady_clock::now() + kOpenTime;
  bool reported = false;
  while (true) {
    WorkQueues queues;
    bool again = false;
    wq::Status s = run->store.Open(&queues, &again);
    if (s.ok()) run->source.SetQueues(std::move(queues));
    if (s.code() == wq::StatusCode::kNotDurable) {
      if (!std::exchange(reported, true)) LogHealth(s);
      give_up = std::chrono::steady_clock::now() + kOpenTime;
    } else if (s.ok() && reported) {
      LogHealth(s);
    }
    if (!again || std::chrono::steady_clock::now() >= give_up) return s;
    pollfd signals = {run->signals.fd(), POLLIN, 0};
    if (poll(&signals, 1, kOpenRetryMs) != 0) return s;
  }
}

wq::Status MakeRunner(const WorkArgs& args, RunParts* run, std::unique_ptr<CommandRunner>* runner) {
  const CommandOptions command{.command = args.command,
                               .key_on_stdin = args.key_on_stdin,
                               .pass_stdout = !args.output.group,
                               .timeout = args.timeout,
                               .signal_mask = run->signals.mask_before(),
                               .umask = args.command_umask};
  const int error = CommandRunner::Create(command, &run->reaper, runner);
  return error == 0 ? wq::Status::Ok()
                    : wq::Status::IOError("cannot run \"" + wq::EscapeKey(args.command.front()) +
                                          "\": " + ErrnoText(error));
}

// Opens the queues, and works on them: until the run ends, or *lost, the ownership.
int WorkForOneOwnership(const WorkArgs& args, RunParts* run, bool* lost) {
  *lost = false;
  std::unique_ptr<CommandRunner> runner;
  if (wq::Status s = MakeRunner(args, run, &runner); !s.ok()) return Fail(s);
  wq::Status s;
  {
    // While a replica waits for its ownership it looks at the signals itself.
    std::optional<StopGuard> guard;
    if (args.log.url.empty()) guard.emplace(run->signals, StopGuard::During::kOpening);
    s = OpenQueues(run);
  }
  if (!s.ok()) {
    *lost = s.code() == wq::StatusCode::kNotOwner;
    if (*lost) return kExitOk;
    // A signal while it waited for the ownership.
    if (args.log.url.empty() || s.code() != wq::StatusCode::kShuttingDown) return Fail(s);
    LogInfo("stopped; this process did not own the store");
    return kExitOk;
  }
  const int code = WorkOn(args, *runner, run, lost);
  run->source.Clear();
  return code;
}

// Works, and begins anew with each ownership of a replicated store.
int WorkInStore(const WorkArgs& args, RunParts* run) {
  int code = kExitOk;
  for (bool lost = true; lost;) {
    code = WorkForOneOwnership(args, run, &lost);
    if (lost) run->store.EndService();
  }
  run->ownership_end.Expect();
  if (wq::Status s = run->store.Close(run->grace_of_others, run->signals, run->during_close);
      code == kExitOk && !s.ok())
    code = Fail(s);
  return code;
}

// Prints a line for each key that is pending or delayed, in the order in which they would be handed
// out, one queue after the other. Works beside an owner of the store. Returns the exit code.
int DryRun(const std::string& store_dir, const std::vector<std::string>& queues,
           const CommandLine& command) {
  std::unique_ptr<wq::StoreView> view;
  std::vector<std::string> names;
  if (wq::Status s = ViewQueues(store_dir, std::nullopt, &view, &names); !s.ok()) return Fail(s);
  wq::EntryStates states(wq::EntryState::kPending);
  states.Add(wq::EntryState::kDelayed);
  Output out;
  for (const std::string& queue : queues) {
    if (!std::binary_search(names.begin(), names.end(), queue)) {
      return out.Finish(Fail(NoSuchQueue(queue, names)));
    }
    wq::Status s = view->ForEachEntry(queue, states, [&](const wq::Entry& entry) {
      return out.Write(ShellText(command.ArgvFor(entry.key)) + "\n");
    });
    if (!s.ok()) return out.Finish(Fail(s));
  }
  return out.Finish(kExitOk);
}

int Run(const WorkArgs& args) {
  if (args.dry_run) {
    return DryRun(args.store.dir, args.store.queues, CommandLine(args.command, !args.key_on_stdin));
  }
  // Before anything is handed out: what the commands print would be lost.
  if (StdoutIsClosed()) {
    return Fail(wq::Status::IOError("cannot write to standard output: it is closed"));
  }
  // Before anything is opened, and before the first thread.
  Reaper reaper;
  if (wq::Status s = reaper.Start(); !s.ok()) return Fail(s);
  StopSignals signals;
  if (signals.fd() < 0) return Fail(wq::Status::IOError("signalfd failed: " + ErrnoText(errno)));
  std::optional<wq::Replication> replication;
  if (wq::Status s = ReplicationOf(args.log, &replication); !s.ok()) return Fail(s);
  RunParts run(args, std::move(replication), &signals, &reaper);
  return WorkInStore(args, &run);
}

void AddRetryOptions(VerbParser* parser, WorkArgs* args) {
  AddParsed(parser, "--max-requeues", "N",
            "Quarantine a key when it has failed more often than this; default: never", "a number",
            ParseNumber<uint64_t>, &args->store.max_requeues);
  AddDuration(parser, "--base-delay",
              "The delay after the first failure; it doubles with each further one; default 5ms",
              &args->store.base_delay);
  AddDuration(parser, "--max-delay", "The longest delay; default 1000s", &args->store.max_delay);
  AddDuration(parser, "--timeout",
              "Kill a command that runs longer; it counts as failed; default: never",
              &args->timeout);
  AddDuration(parser, "--grace",
              "How long running commands may continue after SIGTERM or SIGINT; default 30s",
              &args->grace);
}

void FinishOutputOptions(bool ungroup, WorkArgs* args) {
  OutputOptions& output = args->output;
  if (output.group && ungroup) Usage("only one of --group and --ungroup");
  if (ungroup && output.tag) Usage("--ungroup leaves the output to the commands: not with --tag");
  // With one command at a time nothing can be mixed.
  if (!ungroup) output.group = output.group || output.tag || args->store.workers != 1;
}

void AddOutputOptions(VerbParser* parser, WorkArgs* args, bool* ungroup) {
  parser->Flag("--group",
               "Print the output of a command when it has ended; the default for several at once",
               &args->output.group);
  parser->Flag("-u,--ungroup",
               "Commands write to the stdout of wqctl; the default for one at a time", ungroup);
  parser->Flag("--tag", "Begin each line of output with the key and a tab", &args->output.tag);
  parser->AtEnd([ungroup, args] { FinishOutputOptions(*ungroup, args); });
}

// "0": as many as possible.
std::optional<int> ParseWorkers(std::string_view text) {
  const std::optional<int> number = ParseNumber<int, 0, Reaper::kMaxCommands>(text);
  return number == 0 ? Reaper::kMaxCommands : number;
}

void KeepDistinctQueues(WorkArgs* args) {
  std::vector<std::string> distinct;
  for (const std::string& queue : args->store.queues) {
    if (std::find(distinct.begin(), distinct.end(), queue) == distinct.end()) {
      distinct.push_back(queue);
    }
  }
  args->store.queues = std::move(distinct);
}

}  // namespace

Command ParseWork(const Input& input) {
  WorkArgs args;
  args.command_umask = input.user_umask;
  VerbParser parser(input,
                    {"Runs a command for each key of a queue.", " -- CMD [ARG...]", kWorkExamples},
                    &args.store.dir);
  parser.RequiredTexts("-q,--queue", "NAME", "The queue; several: their keys in turn",
                       &args.store.queues);
  AddParsed(&parser, "-j,--workers", "N",
            "How many commands run at once; 0: as many as possible; default 1",
            "a number from 0 to 1024", ParseWorkers, &args.store.workers);
  AddRetryOptions(&parser, &args);
  bool ungroup = false;
  AddOutputOptions(&parser, &args, &ungroup);
  parser.Flag("--stdin", "Give the key to the stdin of CMD; do not append it", &args.key_on_stdin);
  parser.Flag("--dry-run", "Print the commands that would run, and change nothing", &args.dry_run);
  parser.Option("--http", "HOST:PORT",
                "Serve /metrics, /healthz and /readyz on loopback; port 0: any", "an address",
                [&args](const std::string& address) {
                  args.store.http_address = address;
                  return !address.empty();
                });
  parser.Flag("--http-any-address",
              "Let --http be reachable from other machines, which then may read it",
              &args.store.http_any_address);
  AddHistoryOptions(&parser, &args.store.store);
  AddDurability(&parser, &args.durability);
  AddLogOptions(&parser, &args.log, true);
  parser.Flag("--follow",
              "Keep waiting when no key is left, or the queue is paused or does not exist yet",
              &args.store.follow);
  parser.Parse();
  if (args.store.http_any_address && args.store.http_address.empty()) {
    Usage("--http-any-address goes with --http");
  }
  KeepDistinctQueues(&args);
  if (wq::Status s = CheckLogArgs(args.log); !s.ok()) Usage(s.message());
  if (!parser.positionals().empty()) Unexpected(parser.positionals().front());
  if (!input.behind || input.behind->empty()) Usage("which command? Give it behind \"--\"");
  args.command = *input.behind;
  return args;
}

}  // namespace wqctl
