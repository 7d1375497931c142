// wqctl inspect: the queues at a glance, or all that is known of one key. Changes nothing.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tools/wqctl/duration.h"
#include "tools/wqctl/exit_code.h"
#include "tools/wqctl/json.h"
#include "tools/wqctl/output.h"
#include "tools/wqctl/queues.h"
#include "tools/wqctl/table.h"
#include "tools/wqctl/verbs.h"
#include "wq/clock.h"
#include "wq/keys.h"
#include "wq/store_view.h"

namespace wqctl {
namespace {

constexpr size_t kLanesInTable = 8;

int64_t NowUs() { return wq::Clock::System()->Now().wall_us; }

std::string AgeOf(int64_t then_us) {
  return FormatAge(std::chrono::microseconds{NowUs() - then_us});
}

std::string NextReady(const std::optional<int64_t>& ready_at_us) {
  if (!ready_at_us) return "-";
  const int64_t left_us = *ready_at_us - NowUs();
  return left_us <= 0 ? "due" : "in " + FormatAge(std::chrono::microseconds{left_us});
}

std::string OwnerText(const wq::StoreInfo& info) {
  if (info.owner_pid == 0) return "none";
  return "pid " + std::to_string(info.owner_pid) + (info.owner_alive ? "" : " (gone)");
}

// Lanes beside the two named ones; of many of them the highest.
std::string OtherLanes(const wq::QueueSummary& queue) {
  std::string text;
  size_t shown = 0;
  uint64_t hidden = queue.other_lanes;
  for (const auto& [lane, count] : queue.lanes) {
    if (lane == wq::kFastLane || lane == wq::kSlowLane) continue;
    if (++shown > kLanesInTable) {
      hidden += count;
      continue;
    }
    text += (text.empty() ? "" : " ") + wq::LaneName(lane) + "=" + std::to_string(count);
  }
  if (hidden > 0) text += " others=" + std::to_string(hidden);
  return text.empty() ? "-" : text;
}

std::string GroupsText(const wq::QueueSummary& queue) {
  if (queue.group_error > 0) return "more than " + std::to_string(wq::kMaxSummaryGroups);
  return std::to_string(queue.groups);
}

std::string PauseText(const wq::QueueSummary& queue) {
  if (!queue.PausedAt(NowUs())) return "-";
  if (!queue.paused_until_us) return "yes";
  return "for " + FormatAge(std::chrono::microseconds{*queue.paused_until_us - NowUs()});
}

std::string InLane(const wq::QueueSummary& queue, wq::Lane lane) {
  const auto it = queue.lanes.find(lane);
  return std::to_string(it == queue.lanes.end() ? 0 : it->second);
}

void PrintQueues(const std::vector<wq::QueueSummary>& queues, Output* out) {
  Table table({"QUEUE", "PENDING", "FAST", "SLOW", "OTHER LANES", "GROUPS", "SHARDS", "DELAYED",
               "FAILING", "QUARANTINED", "PAUSED", "OLDEST", "NEXT READY"},
              out);
  for (const wq::QueueSummary& queue : queues) {
    table.Add({wq::EscapeKey(queue.name), std::to_string(queue.pending),
               InLane(queue, wq::kFastLane), InLane(queue, wq::kSlowLane), OtherLanes(queue),
               GroupsText(queue), queue.shards == 0 ? "-" : std::to_string(queue.shards),
               std::to_string(queue.delayed), std::to_string(queue.failing),
               std::to_string(queue.quarantined), PauseText(queue),
               queue.oldest_added_at_us ? AgeOf(*queue.oldest_added_at_us) : "-",
               NextReady(queue.next_ready_at_us)});
  }
  table.Finish();
}

void PrintFailing(const std::vector<wq::QueueSummary>& queues, Output* out) {
  if (std::none_of(queues.begin(), queues.end(),
                   [](const wq::QueueSummary& queue) { return queue.failing > 0; })) {
    return;
  }
  out->Write("\n");
  Table table({"QUEUE", "FAILING KEY", "FAILURES", "LAST FAILURE", "LAST ERROR"}, out);
  for (const wq::QueueSummary& queue : queues) {
    for (const wq::FailingKey& failing : queue.top_failing) {
      const wq::FailureInfo& failures = failing.failures;
      table.Add({wq::EscapeKey(queue.name), wq::EscapeKey(failing.key),
                 std::to_string(failures.count), AgeOf(failures.last_at_us) + " ago",
                 wq::EscapeKey(failures.last_error)});
    }
  }
  table.Finish();
}

// The deepest groups of each queue that has any.
void PrintGroups(const std::vector<wq::QueueSummary>& queues, Output* out) {
  Table table({"QUEUE", "GROUP", "PENDING"}, out);
  bool any = false;
  for (const wq::QueueSummary& queue : queues) {
    for (const wq::GroupDepth& group : queue.top_groups) {
      // Too low by so much at most.
      const std::string error =
          queue.group_error > 0 ? " to " + std::to_string(group.pending + queue.group_error) : "";
      if (!std::exchange(any, true)) out->Write("\n");
      table.Add({wq::EscapeKey(queue.name), wq::EscapeKey(group.group),
                 std::to_string(group.pending) + error});
    }
  }
  if (any) table.Finish();
}

void PrintCursors(const std::vector<wq::QueueSummary>& queues, Output* out) {
  Table table({"QUEUE", "CURSOR", "BYTES"}, out);
  bool any = false;
  for (const wq::QueueSummary& queue : queues) {
    for (const auto& [name, bytes] : queue.cursors) {
      if (!std::exchange(any, true)) out->Write("\n");
      table.Add({wq::EscapeKey(queue.name), wq::EscapeKey(name), std::to_string(bytes)});
    }
    if (queue.other_cursors > 0) {
      table.Add(
          {wq::EscapeKey(queue.name), "and " + std::to_string(queue.other_cursors) + " more", "-"});
    }
  }
  if (any) table.Finish();
}

void PrintStore(const wq::StoreInfo& info, Output* out) {
  Table table({"STORE", "UUID", "FORMAT", "OWNER"}, out);
  table.Add({wq::EscapeKey(info.dir, 4096), wq::EscapeKey(info.uuid),
             std::to_string(info.format_version), OwnerText(info)});
  table.Finish();
  out->Write("\n");
}

std::vector<std::string> InspectRow(const std::string& queue, const wq::Entry& entry) {
  const bool pending = entry.state == wq::EntryState::kPending;
  const bool delayed = entry.state == wq::EntryState::kDelayed;
  const bool quarantined = entry.state == wq::EntryState::kQuarantined;
  const bool placed = pending || delayed || quarantined;
  const wq::FailureInfo failures = entry.failures.value_or(wq::FailureInfo{});
  const bool failed = failures.count > 0;
  return {wq::EscapeKey(queue),
          std::string(wq::EntryStateName(entry.state)),
          placed ? wq::LaneName(entry.lane) : "-",
          entry.group.empty() ? "-" : wq::EscapeKey(entry.group),
          pending ? std::to_string(entry.sequence) : "-",
          pending || delayed ? FormatTime(entry.added_at_us) : "-",
          delayed ? FormatTime(entry.ready_at_us) : "-",
          delayed ? FormatDuration(std::chrono::microseconds{entry.delay_us}) : "-",
          quarantined ? FormatTime(entry.quarantined_at_us) : "-",
          std::to_string(failures.count),
          failed ? FormatTime(failures.first_at_us) : "-",
          failed ? FormatTime(failures.last_at_us) : "-",
          entry.failures ? wq::EscapeKey(failures.last_error) : "-"};
}

void PrintKey(const std::vector<QueueEntries>& found, Output* out) {
  Table table({"QUEUE", "STATE", "LANE", "GROUP", "SEQUENCE", "ADDED AT", "READY AT", "DELAY",
               "QUARANTINED AT", "FAILURES", "FIRST FAILURE", "LAST FAILURE", "LAST ERROR"},
              out);
  for (const QueueEntries& queue : found) {
    for (const wq::Entry& entry : queue.entries) table.Add(InspectRow(queue.queue, entry));
  }
  table.Finish();
}

int InspectQueues(const wq::StoreView& view, const std::vector<std::string>& names, Format format) {
  std::vector<wq::QueueSummary> queues;
  for (const std::string& name : names) {
    if (wq::Status s = view.Summarize(name, {}, &queues.emplace_back()); !s.ok()) return Fail(s);
  }
  Output out;
  if (format == Format::kJson) {
    out.Write(SummariesJson(view.info(), queues, NowUs()));
  } else {
    PrintStore(view.info(), &out);
    PrintQueues(queues, &out);
    PrintGroups(queues, &out);
    PrintFailing(queues, &out);
    PrintCursors(queues, &out);
  }
  return out.Finish(kExitOk);
}

int InspectKey(const wq::StoreView& view, const std::vector<std::string>& names,
               const std::string& key, Format format) {
  std::vector<QueueEntries> found;
  for (const std::string& name : names) {
    QueueEntries queue{name, {}};
    wq::Status s = view.Find(name, key, &queue.entries);
    // Asked for one queue, its absence and that of the key are the answer; otherwise look on.
    if (s.code() == wq::StatusCode::kNotFound && names.size() > 1) continue;
    if (!s.ok()) return Fail(s);
    found.push_back(std::move(queue));
  }
  if (found.empty()) {
    return Fail(
        wq::Status::NotFound("no queue holds anything of key \"" + wq::EscapeKey(key) + "\""));
  }
  Output out;
  if (format == Format::kJson) {
    out.Write(KeyJson(view.info(), key, found));
  } else {
    PrintKey(found, &out);
  }
  return out.Finish(kExitOk);
}

}  // namespace

int Run(const InspectArgs& args) {
  const InterruptScope interrupts;
  std::unique_ptr<wq::StoreView> view;
  if (wq::Status s = wq::StoreView::Open(args.store_dir, &view); !s.ok()) return Fail(s);
  std::vector<std::string> names;
  if (wq::Status s = QueuesOf(*view, args.queue, &names); !s.ok()) return Fail(s);
  if (args.key) return InspectKey(*view, names, *args.key, args.format);
  return InspectQueues(*view, names, args.format);
}

}  // namespace wqctl
