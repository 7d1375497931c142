// wqctl ls: lists entries. wqctl dump: also what else a store has. They change nothing.
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/wqctl/cli/filter.h"
#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/cli/queues.h"
#include "tools/wqctl/cli/show.h"
#include "tools/wqctl/text/dump_line.h"
#include "tools/wqctl/text/duration.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/listing.h"
#include "tools/wqctl/text/log.h"
#include "tools/wqctl/text/output.h"
#include "tools/wqctl/text/progress.h"
#include "wq/keys.h"
#include "wq/store_view.h"

namespace wqctl {
namespace {

constexpr const char* kLsExamples =
    R"(Pending entries in hand-out order, then delayed entries by the time when they are
ready, then keys with only failures, then quarantined keys. The first rows appear at
once, however many entries match. Works beside a living owner and after a crash, and
changes nothing.

Examples:
  wqctl ls -q pods | head
  wqctl ls --state delayed --due-within 1m
  wqctl ls --failures-over 3 --sort-by failures --limit 20
  wqctl ls --match '^default/web-[0-9]+$' -o json
  wqctl ls -q pods --state pending --older-than 1h -o name -0 |
    xargs -0 wqctl rm -q pods --yes --)";

constexpr const char* kDumpExamples =
    R"(Between a record of its begin and one of its end, which says how many there are, for each
queue: its own record, its cursors, its sources with their objects, its entries: pending
entries in hand-out order, then delayed entries by the time when they are ready, then keys
with only failures, then quarantined keys. wqctl load reads the output.
With a filter, in a table, and with -o name: entries only. Works beside a living owner and
after a crash, and changes nothing.

Examples:
  wqctl dump > pods.jsonl
  wqctl dump -q pods | wqctl --store /var/lib/copy load
  wqctl dump --state quarantined | jq -r .last_error | sort | uniq -c
  wqctl dump -o table | head)";

struct EntriesArgs {
  std::string store_dir;
  std::optional<std::string> queue;
  Filter filter;
  Show show;
  Format format = Format::kTable;
  bool null_separated = false;
};
struct LsArgs : EntriesArgs {};
struct DumpArgs : EntriesArgs {};

std::vector<std::string> EntryHeader(bool wide) {
  std::vector<std::string> header = {"QUEUE", "KEY", "STATE",    "LANE",      "GROUP",
                                     "AGE",   "DUE", "FAILURES", "LAST ERROR"};
  if (wide) {
    header.insert(header.end() - 1,
                  {"FIRST FAILURE", "LAST FAILURE", "SHARD", "SEQUENCE", "DELAY"});
  }
  return header;
}

std::vector<std::string> EntryCells(const std::string& queue, const wq::Entry& entry,
                                    const Show& show, bool wide) {
  const bool delayed = entry.state == wq::EntryState::kDelayed;
  const bool failed = entry.failures && entry.failures->count > 0;
  std::vector<std::string> row = {
      wq::EscapeKey(queue),
      show.Key(entry.key),
      std::string(wq::EntryStateName(entry.state)),
      entry.state == wq::EntryState::kFailing ? "-" : wq::LaneName(entry.lane),
      entry.group.empty() ? "-" : wq::EscapeKey(entry.group),
      show.Age(AgeBeganUs(entry)),
      delayed ? show.Until(entry.ready_at_us) : "-",
      std::to_string(entry.failures ? entry.failures->count : 0)};
  if (wide) {
    row.push_back(failed ? show.Ago(entry.failures->first_at_us) : "-");
    row.push_back(failed ? show.Ago(entry.failures->last_at_us) : "-");
    row.push_back(entry.shard ? std::to_string(*entry.shard) : "-");
    row.push_back(entry.state == wq::EntryState::kPending ? std::to_string(entry.sequence) : "-");
    row.push_back(delayed ? FormatDuration(std::chrono::microseconds{entry.delay_us}) : "-");
  }
  row.push_back(entry.failures ? wq::EscapeKey(entry.failures->last_error) : "-");
  return row;
}

// Prints a record that is no entry. Neither a table nor a list of names has any.
void PrintRecord(const DumpRecord& record, Listing* listing) {
  listing->Row([&](std::string* json) { AppendDumpLine(record, false, json); },
               [] { return std::vector<std::string>{}; }, [] { return std::string(); });
}

// Prints the queue's own record, its cursors and its sources with their objects. Adds their number
// to *records.
wq::Status DumpQueue(const wq::StoreView& view, const std::string& name, Listing* listing,
                     uint64_t* records) {
  wq::QueueInfo info;
  if (wq::Status s = view.Info(name, &info); !s.ok()) return s;
  PrintRecord(info, listing);
  std::map<std::string, std::string> cursors;
  if (wq::Status s = view.Cursors(name, &cursors); !s.ok()) return s;
  for (const auto& [cursor, value] : cursors) {
    PrintRecord(DumpedCursor{name, cursor, value}, listing);
  }
  *records += 1 + cursors.size();
  const auto print = [&](const auto& record) {
    PrintRecord(record, listing);
    ++*records;
    return !Interrupted();
  };
  return view.ForEachSource(
      name,
      [&](const wq::SourceRow& source) {
        return print(DumpedSource{name, source});
      },
      [&](const wq::ObjectRow& object) {
        return print(DumpedObject{name, object});
      });
}

// Prints the whole queues, between a begin and an end.
wq::Status DumpQueues(const wq::StoreView& view, const std::vector<std::string>& names,
                      const QueueVisitor& print_entry, Listing* listing) {
  DumpEnd end;
  PrintRecord(DumpBegin{}, listing);
  for (const std::string& name : names) {
    if (wq::Status s = DumpQueue(view, name, listing, &end.records); !s.ok()) return s;
    bool open = true;
    wq::Status s = view.ForEachEntry(name, [&](const wq::Entry& entry) {
      ++end.records;
      return open = print_entry(name, entry);
    });
    if (!s.ok() || !open) return s;
  }
  PrintRecord(end, listing);
  return wq::Status::Ok();
}

// Leaves out the queues of a load that was killed or ran out of space. They are not handed out, and
// load rejects such names, so a dump with them could not be loaded.
void LeaveOutUnfinished(std::vector<std::string>* names) {
  std::erase_if(*names, [](const std::string& name) {
    if (name.find('~') == name.npos) return false;
    LogInfo("left out: queue \"" + wq::EscapeKey(name) +
            "\", which belongs to an unfinished load or deletion; -q includes it");
    return true;
  });
}

// The keys with failures that are in no other state are not counted.
uint64_t CountEntries(const wq::StoreView& view, const std::vector<std::string>& queues) {
  uint64_t entries = 0;
  for (const std::string& queue : queues) {
    wq::QueueSummary summary;
    // What cannot be read has no total; the verb itself reports why.
    if (!view.Summarize(queue, {.top_failing = 0, .top_groups = 0}, &summary).ok()) return 0;
    entries += summary.pending + summary.delayed + summary.quarantined;
  }
  return entries;
}

// How many entries there are is counted when the step turns out to be slow, and only if all are
// printed.
ProgressStep StepOfDump(const wq::StoreView& view, std::vector<std::string> queues,
                        const Filter& filter) {
  ProgressStep step = {.name = "dump", .unit = "keys"};
  if (filter.SelectsAll()) {
    step.count_total = [&view, queues = std::move(queues)] { return CountEntries(view, queues); };
  }
  return step;
}

int PrintEntries(const EntriesArgs& args, bool dump) {
  const InterruptScope interrupts;
  std::unique_ptr<wq::StoreView> view;
  std::vector<std::string> names;
  wq::Status s = ViewQueues(args.store_dir, args.queue, &view, &names);
  if (!s.ok()) return Fail(s);
  std::optional<ProgressLine> progress;
  if (dump) {
    if (!args.queue) LeaveOutUnfinished(&names);
    progress.emplace(StepOfDump(*view, names, args.filter));
  }
  Output out;
  const bool wide = args.format == Format::kWide;
  Listing listing(args.format, EntryHeader(wide), &out);
  bool open = true;
  const QueueVisitor print = [&](const std::string& queue, const wq::Entry& entry) {
    if (progress) progress->Add();
    open = listing.Row(
               [&](std::string* json) { AppendDumpLine(queue, entry, args.show.hex, json); },
               [&] { return EntryCells(queue, entry, args.show, wide); },
               [&] { return KeyLine(args.show, entry.key, args.null_separated ? '\0' : '\n'); }) &&
           !Interrupted();
    return open;
  };
  const bool entries_only =
      !dump || !args.filter.SelectsAll() || IsTable(args.format) || args.format == Format::kName;
  s = entries_only ? VisitMatching(*view, names, args.filter, args.show.now_us, print)
                   : DumpQueues(*view, names, print, &listing);
  const int code = s.ok() ? static_cast<int>(kExitOk) : Fail(s);
  listing.End(code == kExitOk && open);
  return out.Finish(code);
}

int Run(const LsArgs& args) { return PrintEntries(args, false); }
int Run(const DumpArgs& args) { return PrintEntries(args, true); }

}  // namespace

Command ParseLs(const Input& input) {
  LsArgs args;
  VerbParser parser(input,
                    {"Lists entries, in the order in which keys are handed out.", "", kLsExamples},
                    &args.store_dir);
  AddOnlyQueue(&parser, &args.queue);
  AddFilterOptions(&parser, &args.filter, &args.show.hex);
  AddTimeOptions(&parser, &args.show);
  AddFormat(&parser, kListingFormats, &args.format);
  parser.Flag("-0,--null", "With -o name: end each key with NUL", &args.null_separated);
  parser.ParseWithoutArguments();
  if (args.null_separated && args.format != Format::kName) Usage("--null goes with -o name");
  return args;
}

Command ParseDump(const Input& input) {
  DumpArgs args;
  args.format = Format::kJsonl;
  args.show.absolute = true;
  VerbParser parser(input, {"Prints the contents of a store, as JSON lines.", "", kDumpExamples},
                    &args.store_dir);
  AddOnlyQueue(&parser, &args.queue);
  AddFilterOptions(&parser, &args.filter, &args.show.hex);
  AddNow(&parser, &args.show);
  AddFormat(&parser, kListingFormats, &args.format);
  parser.ParseWithoutArguments();
  return args;
}

}  // namespace wqctl
