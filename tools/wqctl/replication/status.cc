#include "tools/wqctl/replication/status.h"

#include <algorithm>
#include <chrono>

#include "tools/wqctl/cli/store_text.h"
#include "tools/wqctl/text/duration.h"
#include "tools/wqctl/text/json_fields.h"
#include "tools/wqctl/text/table.h"
#include "wq/keys.h"

namespace wqctl {
namespace {

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

}  // namespace

bool IsHealthy(const LogReport& report) {
  return report.state.owner.epoch != 0 &&
         std::all_of(report.members.begin(), report.members.end(), [](const wq::LogMember& member) {
           return member.reachable && member.problem.empty();
         });
}

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
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
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

}  // namespace wqctl
