// wqctl replication status, forget and destroy, and promote: the log of a replicated store.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/replication/log_args.h"
#include "tools/wqctl/replication/log_verb.h"
#include "tools/wqctl/text/bytes_text.h"
#include "tools/wqctl/text/duration.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/format.h"
#include "tools/wqctl/text/json_fields.h"
#include "tools/wqctl/text/log.h"
#include "tools/wqctl/text/output.h"
#include "tools/wqctl/text/table.h"
#include "wq/clock.h"
#include "wq/keys.h"
#include "wq/replicated_log.h"

namespace wqctl {
namespace {

struct LogReport {
  std::string log;  // ReplicatedLog::Name.
  wq::LogState state;
  std::vector<wq::LogMember> members;
  int64_t now_us = 0;
};

// Clocks of two machines may differ: an age is not negative.
int64_t AgeUs(const LogReport& report, int64_t at_us) {
  return std::max<int64_t>(report.now_us - at_us, 0);
}

std::string Ago(const LogReport& report, int64_t at_us) {
  return FormatAge(std::chrono::microseconds{AgeUs(report, at_us)}) + " ago";
}

uint64_t Entries(const wq::LogState& state) { return state.last + 1 - state.first; }

uint64_t Lag(const wq::LogState& state, const wq::LogReplica& replica) {
  return state.last - std::min(state.last, replica.applied);
}

std::string OrNone(const std::string& text) { return text.empty() ? "none" : wq::EscapeKey(text); }

std::string EntriesText(const wq::LogState& state) {
  const uint64_t entries = state.last == 0 ? 0 : Entries(state);
  std::string text = std::to_string(entries);
  if (entries > 0) {
    text += ", from " + std::to_string(state.first) + " to " + std::to_string(state.last);
  } else if (state.last > 0) {
    text += ", the last one was " + std::to_string(state.last);
  }
  return state.bytes == 0 ? text : text + ", " + FormatBytes(state.bytes);
}

std::string CheckpointText(const LogReport& report) {
  if (!report.state.checkpoint) return "none";
  const wq::LogCheckpoint& checkpoint = *report.state.checkpoint;
  return "after entry " + std::to_string(checkpoint.sequence) + ", made " +
         Ago(report, checkpoint.made_at_us) + ", " + FormatBytes(checkpoint.bytes) + ", " +
         std::to_string(checkpoint.rows) + " rows";
}

std::string MemberState(const wq::LogMember& member) {
  if (member.problem.empty()) return member.reachable ? "ok" : "unreachable";
  return (member.reachable ? "" : "unreachable: ") + wq::EscapeKey(member.problem, 1024);
}

// Whether the log has an owner, and all members can be reached and have no alarm.
bool IsHealthy(const LogReport& report) {
  return report.state.owner.epoch != 0 &&
         std::all_of(report.members.begin(), report.members.end(), [](const wq::LogMember& member) {
           return member.reachable && member.problem.empty();
         });
}

// The fields that docs/wqctl.md lists, indented, with a line end.
std::string LogReportJson(const LogReport& report) {
  const wq::LogState& state = report.state;
  Json json;
  json["log"] = report.log;
  json["store_uuid"] = state.store_uuid.empty() ? Json() : Json(state.store_uuid);
  json["owner"] = Json();
  if (state.owner.epoch != 0) {
    json["owner"] = {{"name", state.owner.name}, {"epoch", state.owner.epoch}};
  }
  json["successor"] = state.successor.empty() ? Json() : Json(state.successor);
  json["entries"] = {{"first", state.first},
                     {"last", state.last},
                     {"count", state.last == 0 ? 0 : Entries(state)},
                     {"bytes", state.bytes}};
  json["checkpoint"] = Json();
  if (state.checkpoint) {
    json["checkpoint"] = {{"sequence", state.checkpoint->sequence},
                          {"age_seconds", Seconds(AgeUs(report, state.checkpoint->made_at_us))},
                          {"bytes", state.checkpoint->bytes},
                          {"rows", state.checkpoint->rows}};
  }
  json["replicas"] = Json::array();
  for (const wq::LogReplica& replica : state.replicas) {
    json["replicas"].push_back(
        {{"name", replica.name},
         {"owner", state.owner.epoch != 0 && replica.name == state.owner.name},
         {"applied", replica.applied},
         {"lag_entries", Lag(state, replica)},
         {"report_age_seconds", Seconds(AgeUs(report, replica.seen_at_us))}});
  }
  json["members"] = Json::array();
  for (const wq::LogMember& member : report.members) {
    json["members"].push_back(
        {{"endpoint", member.endpoint},
         {"reachable", member.reachable},
         {"leads", member.leads},
         {"database_bytes", member.database_bytes},
         {"problem", member.problem.empty() ? Json() : Json(member.problem)}});
  }
  return JsonText(json, 2) + "\n";
}

void PrintLogReport(const LogReport& report, Output* out) {
  const wq::LogState& state = report.state;
  const std::string owner = state.owner.epoch == 0 ? "none"
                                                   : wq::EscapeKey(state.owner.name) + ", epoch " +
                                                         std::to_string(state.owner.epoch);
  out->Write("log:         " + report.log + "\n");
  out->Write("store:       " + OrNone(state.store_uuid) + "\n");
  out->Write("owner:       " + owner + "\n");
  if (!state.successor.empty()) out->Write("successor:   " + OrNone(state.successor) + "\n");
  out->Write("entries:     " + EntriesText(state) + "\n");
  out->Write("checkpoint:  " + CheckpointText(report) + "\n\n");
  Table replicas({"REPLICA", "ROLE", "APPLIED", "LAG", "REPORTED"}, out);
  for (const wq::LogReplica& replica : state.replicas) {
    const bool owns = state.owner.epoch != 0 && replica.name == state.owner.name;
    replicas.Add({wq::EscapeKey(replica.name), owns ? "owner" : "follower",
                  std::to_string(replica.applied), std::to_string(Lag(state, replica)),
                  Ago(report, replica.seen_at_us)});
  }
  replicas.Finish();
  out->Write("\n");
  Table members({"MEMBER", "ROLE", "DATABASE", "STATE"}, out);
  for (const wq::LogMember& member : report.members) {
    members.Add({wq::EscapeKey(member.endpoint),
                 !member.reachable ? "-"
                 : member.leads    ? "leader"
                                   : "follower",
                 member.reachable ? FormatBytes(member.database_bytes) : "-", MemberState(member)});
  }
  members.Finish();
}

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
    out.Write(LogReportJson(report));
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
