// wqctl replication status, forget and destroy, and promote: the log of a replicated store.
#include <array>
#include <chrono>
#include <memory>
#include <string>

#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/replication/log_args.h"
#include "tools/wqctl/replication/log_verb.h"
#include "tools/wqctl/replication/status.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/format.h"
#include "tools/wqctl/text/json.h"
#include "tools/wqctl/text/log.h"
#include "tools/wqctl/text/output.h"
#include "wq/clock.h"
#include "wq/keys.h"

namespace wqctl {
namespace {

constexpr const char* kStatusExamples =
    R"(URL is that of the log, etcd://HOST:PORT[,HOST:PORT...]/PREFIX; also --replicate or
WQ_REPLICATE. LAG is how many entries of the log a replica does not have, by its last
report. Exit code 1 if the log has no owner, or a member of etcd cannot be reached or
has an alarm; the status is printed all the same.

Examples:
  wqctl replication status etcd://10.0.0.1:2379,10.0.0.2:2379/wq/pods
  wqctl replication status -o json | jq '.replicas[] | select(.lag_entries > 1000)')";

constexpr const char* kForgetExamples =
    R"(For a machine that does not come back: the log is not kept for it any more. A replica
that still runs registers itself again.

Examples:
  wqctl replication forget etcd://10.0.0.1:2379/wq/pods node-3)";

constexpr const char* kDestroyExamples =
    R"(Deletes the log with its entries and its checkpoint. The stores of the replicas stay:
replication remove makes an ordinary store of one. A log with an owner is left, and
without --force one that has replicas.

Examples:
  wqctl replication destroy etcd://10.0.0.1:2379/wq/pods --yes
  wqctl replication destroy etcd://10.0.0.1:2379/wq/pods --yes --force)";

constexpr const char* kPromoteExamples =
    R"(The owner ends its work, hands the store over to replica NAME, and follows it. If NAME
does not own the store in time, the request is withdrawn, and any replica may own it.

Examples:
  wqctl promote etcd://10.0.0.1:2379/wq/pods node-2
  wqctl promote node-2 --timeout 5s)";

constexpr std::array kStatusFormats = {Format::kTable, Format::kJson};

// --- status ---

struct StatusArgs : LogVerbArgs {
  Format format = Format::kTable;
};

int Run(const StatusArgs& args) {
  std::shared_ptr<wq::ReplicatedLog> log;
  if (wq::Status s = OpenLog(args.log, &log); !s.ok()) return Fail(s);
  LogReport report;
  report.log = log->Name();
  if (wq::Status s = log->State(&report.state); !s.ok()) return Fail(s);
  report.members = log->Members();
  report.now_us = wq::Clock::System()->WallUs();
  Output out;
  if (args.format == Format::kTable) {
    PrintLogReport(report, &out);
  } else {
    out.Write(InFormat(args.format, LogReportJson(report)));
  }
  return out.Finish(IsHealthy(report) ? kExitOk : kExitFailure);
}

// --- forget, destroy, promote ---

struct ForgetReplicaArgs : LogVerbArgs {};
struct PromoteArgs : LogVerbArgs {};
struct DestroyArgs : LogVerbArgs {
  bool yes = false;
  bool force = false;
};

int Run(const ForgetReplicaArgs& args) {
  std::shared_ptr<wq::ReplicatedLog> log;
  if (wq::Status s = OpenLog(args.log, &log); !s.ok()) return Fail(s);
  if (wq::Status s = log->RemoveReplica(args.name); !s.ok()) return Fail(s);
  return PrintLine("forgot replica " + Shown(args.name));
}

int Run(const DestroyArgs& args) {
  std::shared_ptr<wq::ReplicatedLog> log;
  if (wq::Status s = OpenLog(args.log, &log); !s.ok()) return Fail(s);
  if (wq::Status s = log->Destroy(args.force); !s.ok()) return Fail(s);
  return PrintLine("destroyed the log " + log->Name());
}

// NotFound: the log has no such replica.
wq::Status CheckReplica(const wq::LogState& state, const std::string& name) {
  std::string names;
  for (const wq::LogReplica& replica : state.replicas) {
    if (replica.name == name) return {};
    names += (names.empty() ? "" : ", ") + wq::EscapeKey(replica.name);
  }
  return wq::Status::NotFound("there is no replica " + Shown(name) + "; the log has " +
                              (names.empty() ? "none" : names));
}

int Run(const PromoteArgs& args) {
  std::shared_ptr<wq::ReplicatedLog> log;
  if (wq::Status s = OpenLog(args.log, &log); !s.ok()) return Fail(s);
  wq::LogState state;
  if (wq::Status s = log->State(&state); !s.ok()) return Fail(s);
  const auto owns = [&] { return state.owner.epoch != 0 && state.owner.name == args.name; };
  if (!owns()) {
    if (wq::Status s = CheckReplica(state, args.name); !s.ok()) return Fail(s);
    if (wq::Status s = log->SetSuccessor(args.name); !s.ok()) return Fail(s);
    wq::Status s = PollUntil(args.timeout, [&](bool* ready) {
      wq::Status read = log->State(&state);
      *ready = read.ok() && owns();
      return read;
    });
    if (!s.ok()) {
      // Otherwise all others would wait for it.
      if (wq::Status withdrawn = log->SetSuccessor(""); !withdrawn.ok()) {
        LogWarning("the request to promote " + Shown(args.name) +
                   " stays in the log: " + Shown(withdrawn.message()));
      }
      return Fail(
          s.code() == wq::StatusCode::kTimedOut
              ? wq::Status::TimedOut("replica " + Shown(args.name) +
                                     " did not become the owner in time; the owner is " +
                                     (state.owner.epoch == 0 ? "nobody" : Shown(state.owner.name)))
              : s);
    }
  }
  return PrintLine("replica " + Shown(args.name) + " owns the store, in epoch " +
                   std::to_string(state.owner.epoch));
}

}  // namespace

Command ParseReplicationStatus(const Input& input) {
  StatusArgs args;
  VerbParser parser(input,
                    {"Shows the log of a replicated store, its replicas, and etcd's members.",
                     " [URL]", kStatusExamples},
                    nullptr);
  AddFormat(&parser, kStatusFormats, &args.format);
  AddLogOptions(&parser, &args.log, false);
  TakeUrl(parser.Parse(), 0, 0, "", &args);
  return args;
}

Command ParseReplicationForget(const Input& input) {
  ForgetReplicaArgs args;
  VerbParser parser(input, {"Removes a replica from a log.", " [URL] NAME", kForgetExamples},
                    nullptr);
  AddLogOptions(&parser, &args.log, false);
  const Words words = parser.Parse();
  TakeUrl(words, 0, 1, "which replica? Give its name", &args);
  args.name = words.back();
  return args;
}

Command ParseReplicationDestroy(const Input& input) {
  DestroyArgs args;
  VerbParser parser(input, {"Deletes the log of a replicated store.", " [URL]", kDestroyExamples},
                    nullptr);
  AddLogOptions(&parser, &args.log, false);
  parser.Flag("--yes", "Confirm that the log is to be deleted", &args.yes);
  parser.Flag("--force", "Delete it though it has replicas", &args.force);
  TakeUrl(parser.Parse(), 0, 0, "", &args);
  if (!args.yes) Usage("the log would be deleted with all that it has: give --yes to do it");
  return args;
}

Command ParsePromote(const Input& input) {
  PromoteArgs args;
  args.timeout = std::chrono::seconds{30};
  VerbParser parser(
      input, {"Makes a replica the owner of its store.", " [URL] NAME", kPromoteExamples}, nullptr);
  AddLogOptions(&parser, &args.log, false);
  AddTimeout(&parser, "until NAME owns the store", &args);
  const Words words = parser.Parse();
  TakeUrl(words, 0, 1, "which replica? Give its name", &args);
  args.name = words.back();
  return args;
}

}  // namespace wqctl
