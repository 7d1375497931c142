// wqctl inspect: shows the queues, or everything known about one key. Changes nothing.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/cli/queues.h"
#include "tools/wqctl/cli/show.h"
#include "tools/wqctl/cli/store_text.h"
#include "tools/wqctl/text/duration.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/json.h"
#include "tools/wqctl/text/listing.h"
#include "tools/wqctl/text/log.h"
#include "tools/wqctl/text/number.h"
#include "tools/wqctl/text/output.h"
#include "wq/history.h"
#include "wq/keys.h"
#include "wq/limiter.h"
#include "wq/live_store.h"
#include "wq/store_view.h"

namespace wqctl {
namespace {

using State = wq::EntryState;

// Exact in most queues, and fast in all.
constexpr uint64_t kMaxCounted = 20'000;
constexpr uint32_t kHistoryLimit = 100;

constexpr const char* kInspectExamples =
    R"(Without KEY: what waits, for how long, what fails and why, what is due when. With KEY:
everything known about the key, the number of keys before it, and the delay after its
next failure (with the --base-delay and --max-delay of work). Works beside a living
owner and after a crash, and changes nothing.

With --history: the events of KEY that the store's owner has recorded (wqctl serve and
wqctl work: --history-bytes), the oldest first. TOOK is the time since the key was handed
out. deduplicated 3: three Adds in a row found the key queued already.

Examples:
  wqctl inspect
  wqctl inspect -q pods -o json
  wqctl inspect --now 2026-01-31T12:00:00Z
  wqctl inspect default/web-1
  wqctl inspect --history -q pods --limit 1000 -o jsonl default/web-1 |
    jq 'select(.kind == "failed")')";

struct InspectArgs {
  std::string store_dir;
  std::optional<std::string> queue;
  std::optional<std::string> key;
  Show show;
  std::chrono::microseconds base_delay = std::chrono::milliseconds{5};
  std::chrono::microseconds max_delay = std::chrono::seconds{1000};
  bool count_all = false;
  bool history = false;
  std::optional<uint32_t> limit;  // Of the history.
  Format format = Format::kText;
};

std::string PositionText(const wq::KeyPosition& position) {
  const std::string least = std::to_string(position.at_least);
  if (position.at_least == position.at_most) return least + " keys before it";
  return "at least " + least + " and at most " + std::to_string(position.at_most) +
         " keys before it";
}

// Prints an entry, a line for each fact: fits any terminal.
class EntryPrinter {
 public:
  EntryPrinter(const Show& show, Output* out) : show_(show), out_(*out) {}

  void Print(const QueueEntries& queue, const wq::Entry& entry) {
    out_.Write("queue " + wq::EscapeKey(queue.queue) + ": " +
               std::string(wq::EntryStateName(entry.state)) + "\n");
    PrintPlace(queue, entry);
    PrintTimes(entry);
    PrintFailures(entry.failures.value_or(wq::FailureInfo{}));
    if (queue.next_delay) {
      Line("next delay", FormatDuration(*queue.next_delay) + ", if it fails now");
    }
  }

 private:
  void Line(std::string label, const std::string& text) {
    label.resize(16, ' ');
    out_.Write("  " + label + text + "\n");
  }
  void Time(const std::string& label, int64_t us, std::string (Show::*relative)(int64_t) const) {
    Line(label, FormatTime(us) + (show_.absolute ? "" : ", " + (show_.*relative)(us)));
  }

  void PrintPlace(const QueueEntries& queue, const wq::Entry& entry) {
    if (entry.state != State::kFailing) {
      Line("lane", wq::LaneName(entry.lane));
      if (!entry.group.empty()) Line("group", wq::EscapeKey(entry.group, wq::kMaxGroupBytes));
      if (entry.shard) Line("shard", std::to_string(*entry.shard));
    }
    for (const wq::Cause& cause : entry.causes.list) {
      const std::string trace = cause.trace_parent.empty() ? "" : "trace " + cause.trace_parent;
      const std::string reason = wq::EscapeKey(cause.reason, wq::kMaxReasonBytes);
      Line("cause", reason + (reason.empty() || trace.empty() ? "" : ", ") + trace);
    }
    if (entry.causes.left_out > 0) {
      Line("more causes", "at least " + std::to_string(entry.causes.left_out));
    }
    if (entry.state != State::kPending) return;
    Line("sequence", std::to_string(entry.sequence));
    if (queue.position) Line("position", PositionText(*queue.position));
  }

  void PrintTimes(const wq::Entry& entry) {
    const bool delayed = entry.state == State::kDelayed;
    if (entry.state == State::kPending || delayed) Time("added", entry.added_at_us, &Show::Ago);
    if (delayed) {
      Time("ready", entry.ready_at_us, &Show::Until);
      Line("delay", FormatDuration(std::chrono::microseconds{entry.delay_us}) +
                        (entry.debounced ? ", debounced" : "") +
                        (entry.resync ? ", until its resync" : ""));
    }
    if (entry.state == State::kQuarantined) {
      Time("quarantined", entry.quarantined_at_us, &Show::Ago);
    }
  }

  void PrintFailures(const wq::FailureInfo& failures) {
    Line("failures", std::to_string(failures.count));
    if (failures.count > 0) {
      Time("first failure", failures.first_at_us, &Show::Ago);
      Time("last failure", failures.last_at_us, &Show::Ago);
    }
    if (!failures.last_error.empty()) {
      Line("last error", wq::EscapeKey(failures.last_error, wq::kMaxErrorBytes));
    }
  }

  const Show& show_;
  Output& out_;
};

void PrintKey(std::string_view key, const std::vector<QueueEntries>& found, const Show& show,
              Output* out) {
  out->Write("key " + (show.hex ? show.Key(key) : wq::EscapeKey(key, key.size())) + "\n");
  EntryPrinter printer(show, out);
  for (const QueueEntries& queue : found) {
    for (const wq::Entry& entry : queue.entries) {
      out->Write("\n");
      printer.Print(queue, entry);
    }
  }
}

int InspectQueues(const wq::StoreView& view, const std::vector<std::string>& names,
                  const InspectArgs& args) {
  Output out;
  if (args.format == Format::kName) {
    for (const std::string& name : names) out.Write(wq::EscapeKey(name) + "\n");
    return out.Finish(kExitOk);
  }
  const std::string owner = OwnerText(view);  // At once: the summaries may take seconds.
  std::vector<wq::QueueSummary> queues;
  const wq::SummaryOptions options{.now_us = args.show.now_us};
  for (const std::string& name : names) {
    if (wq::Status s = view.Summarize(name, options, &queues.emplace_back()); !s.ok()) {
      return Fail(s);
    }
    if (Interrupted()) return kExitFailure;
  }
  if (args.format == Format::kJsonl) {
    out.Write(SummaryLines(queues, args.show.now_us));
  } else if (!IsTable(args.format)) {
    out.Write(SummariesJson(view.info(), queues, args.show.now_us));
  } else if (args.format == Format::kText) {
    PrintStoreText(view.info(), owner, queues, args.show, Columns(), &out);
  } else {
    PrintStoreTable(view.info(), owner, queues, args.show, args.format == Format::kWide, &out);
  }
  return out.Finish(kExitOk);
}

// Finds the key in queue->queue. NotFound: it is not there.
wq::Status FindIn(const wq::StoreView& view, const InspectArgs& args, QueueEntries* queue) {
  const std::string& key = *args.key;
  if (wq::Status s = view.Find(queue->queue, key, &queue->entries); !s.ok()) return s;
  uint64_t failures = 0;
  bool quarantined = false;
  for (const wq::Entry& entry : queue->entries) {
    if (entry.failures) failures = entry.failures->count;
    quarantined = quarantined || entry.state == State::kQuarantined;
    if (entry.state != State::kPending) continue;
    const uint64_t max_counted = args.count_all ? UINT64_MAX : kMaxCounted;
    wq::Status s = view.PositionOf(queue->queue, entry, max_counted, &queue->position.emplace());
    if (!s.ok()) return s;
  }
  if (quarantined) return wq::Status::Ok();
  wq::ItemExponentialFailure limiter(args.base_delay, args.max_delay);
  queue->next_delay = limiter.When(key, failures, {.wall_us = args.show.now_us});
  return wq::Status::Ok();
}

int InspectKey(const wq::StoreView& view, const std::vector<std::string>& names,
               const InspectArgs& args) {
  std::vector<QueueEntries> found;
  for (const std::string& name : names) {
    QueueEntries queue;
    queue.queue = name;
    wq::Status s = FindIn(view, args, &queue);
    // With a single queue the absence of the key is the answer; otherwise try the next queue.
    if (s.code() == wq::StatusCode::kNotFound && names.size() > 1) continue;
    if (!s.ok()) return Fail(s);
    found.push_back(std::move(queue));
  }
  if (found.empty()) {
    return Fail(wq::Status::NotFound("no queue holds anything of key \"" +
                                     wq::EscapeKey(*args.key) + "\""));
  }
  Output out;
  if (IsTable(args.format)) {
    PrintKey(*args.key, found, args.show, &out);
  } else if (args.format == Format::kName) {
    for (const QueueEntries& queue : found) out.Write(wq::EscapeKey(queue.queue) + "\n");
  } else if (args.format == Format::kJsonl) {
    out.Write(KeyLines(*args.key, found));
  } else {
    out.Write(KeyJson(view.info(), *args.key, found));
  }
  return out.Finish(kExitOk);
}

// --- --history ---

// From the process that serves the store, or from the files.
wq::Status ReadHistory(const InspectArgs& args, wq::KeyHistory* history) {
  std::unique_ptr<wq::LiveStore> live;
  if (wq::LiveStore::Connect(args.store_dir, &live).ok()) {
    wq::Status s =
        live->History(*args.queue, *args.key, args.limit.value_or(kHistoryLimit), history);
    if (s.code() != wq::StatusCode::kNotSupported) return s;
  }
  return wq::ReadHistory(args.store_dir, *args.queue, *args.key, args.limit.value_or(kHistoryLimit),
                         history);
}

void WarnOfLoss(const InspectArgs& args, const wq::KeyHistory& history) {
  if (history.lost > 0) {
    LogWarning(std::to_string(history.lost) + " events of queue \"" + wq::EscapeKey(*args.queue) +
               "\" were not recorded since " + FormatTime(history.since_us) +
               ", as there were too many");
  }
  if (!history.recording.ok()) {
    LogWarning("nothing is recorded any more: " + wq::EscapeKey(history.recording.message(), 4096));
  }
}

std::vector<std::string> CellsOf(const InspectArgs& args, const wq::HistoryEvent& event) {
  const auto duration = [](int64_t us) {
    return us == 0 ? "-" : FormatDuration(std::chrono::microseconds(us));
  };
  const bool counted = event.kind == wq::HistoryKind::kDeduplicated;
  return {args.show.Ago(event.at_us),
          HistoryKindName(event.kind) + (counted ? " " + std::to_string(event.count) : ""),
          duration(event.duration_us),
          duration(event.delay_us),
          event.worker.empty() ? "-" : wq::EscapeKey(event.worker),
          event.reason.empty() ? "-" : wq::EscapeKey(event.reason),
          event.error.empty() ? "-" : wq::EscapeKey(event.error)};
}

int ShowHistory(const InspectArgs& args) {
  wq::KeyHistory history;
  if (wq::Status s = ReadHistory(args, &history); !s.ok()) return Fail(s);
  WarnOfLoss(args, history);
  if (history.events.empty()) {
    return Fail(wq::Status::NotFound(
        "no event of key '" + wq::EscapeKey(*args.key, 4096) + "' of queue \"" +
        wq::EscapeKey(*args.queue) + "\" is kept" +
        (history.since_us == 0 ? "" : " since " + FormatTime(history.since_us))));
  }
  Output out;
  Listing listing(args.format, {"AT", "EVENT", "TOOK", "DELAY", "WORKER", "REASON", "ERROR"}, &out);
  for (const wq::HistoryEvent& event : history.events) {
    if (!listing.Row([&](std::string* json) { AppendHistoryJson(event, json); },
                     [&] { return CellsOf(args, event); },
                     [&] { return HistoryKindName(event.kind) + "\n"; })) {
      break;
    }
  }
  listing.End(true);
  return out.Finish(kExitOk);
}

int Run(const InspectArgs& args) {
  if (args.history) return ShowHistory(args);
  const InterruptScope interrupts;
  std::unique_ptr<wq::StoreView> view;
  std::vector<std::string> names;
  wq::Status s = ViewQueues(args.store_dir, args.queue, &view, &names);
  if (!s.ok()) return Fail(s);
  return args.key ? InspectKey(*view, names, args) : InspectQueues(*view, names, args);
}

}  // namespace

Command ParseInspect(const Input& input) {
  InspectArgs args;
  VerbParser parser(
      input, {"Shows the queues, or everything known about one key.", " [KEY]", kInspectExamples},
      &args.store_dir);
  AddOnlyQueue(&parser, &args.queue);
  AddFormat(&parser, kListingFormats, &args.format);
  AddTimeOptions(&parser, &args.show);
  parser.Flag("--hex", "KEY and shown keys in hexadecimal", &args.show.hex);
  parser.Flag("--exact", "Count every key before KEY, however many", &args.count_all);
  AddDuration(&parser, "--base-delay",
              "Of the next delay: the delay after a first failure; default 5ms", &args.base_delay);
  AddDuration(&parser, "--max-delay", "Of the next delay: the longest delay; default 1000s",
              &args.max_delay);
  parser.Flag("--history", "The last events of KEY", &args.history);
  AddParsed(&parser, "--limit", "N", "Of --history: the last N events; default 100",
            "a number from 1 to 10000", ParseNumber<uint32_t, 1, wq::kMaxHistoryEvents>,
            &args.limit);
  Words keys = parser.Parse();
  if (keys.size() > 1) Usage("only one key can be inspected at a time");
  if (!keys.empty()) args.key = args.show.hex ? KeyOfHex(keys.front()) : std::move(keys.front());
  if (args.history && !(args.queue && args.key)) Usage("--history takes -q NAME and one KEY");
  if (args.limit && !args.history) Usage("--limit goes with --history");
  return args;
}

}  // namespace wqctl
