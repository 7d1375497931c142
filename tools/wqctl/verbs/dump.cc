// wqctl dump: streams the contents of a store. Changes nothing.
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
#include "tools/wqctl/verbs/steps.h"
#include "wq/keys.h"
#include "wq/store_view.h"

namespace wqctl {
namespace {

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

struct DumpArgs {
  std::string store_dir;
  std::optional<std::string> queue;
  Filter filter;
  Show show;
  Format format = Format::kJsonl;
};

std::vector<std::string> DumpRow(const std::string& queue, const wq::Entry& entry,
                                 const Show& show) {
  const bool pending = entry.state == wq::EntryState::kPending;
  const bool delayed = entry.state == wq::EntryState::kDelayed;
  const bool placed = entry.state != wq::EntryState::kFailing;
  return {wq::EscapeKey(queue),
          show.Key(entry.key),
          std::string(wq::EntryStateName(entry.state)),
          placed ? wq::LaneName(entry.lane) : "-",
          entry.group.empty() ? "-" : wq::EscapeKey(entry.group),
          pending ? std::to_string(entry.sequence) : "-",
          pending || delayed ? FormatTime(entry.added_at_us) : "-",
          delayed ? FormatTime(entry.ready_at_us) : "-",
          std::to_string(entry.failures ? entry.failures->count : 0),
          entry.failures ? wq::EscapeKey(entry.failures->last_error) : "-"};
}

// Prints a record that is no entry. Neither a table nor a list of names has any.
template <typename Record>
void PrintRecord(const Record& record, Listing* listing) {
  listing->Row([&](std::string* json) { AppendDumpLine(record, json); },
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

wq::Status Dump(const wq::StoreView& view, const std::vector<std::string>& names,
                const DumpArgs& args, Listing* listing, bool* open) {
  ProgressLine progress(StepOfEntries("dump", view, names, args.filter));
  DumpEnd end;
  const auto entry_row = [&](const std::string& queue, const wq::Entry& entry) {
    progress.Add();
    ++end.records;
    *open =
        listing->Row([&](std::string* json) { AppendDumpLine(queue, entry, args.show.hex, json); },
                     [&] { return DumpRow(queue, entry, args.show); },
                     [&] { return KeyLine(args.show, entry.key, '\n'); }) &&
        !Interrupted();
    return *open;
  };
  const bool entries_only = IsTable(args.format) || args.format == Format::kName;
  if (!args.filter.SelectsAll() || entries_only) {
    return VisitMatching(view, names, args.filter, args.show.now_us, entry_row);
  }
  PrintRecord(DumpBegin{}, listing);
  for (const std::string& name : names) {
    if (wq::Status s = DumpQueue(view, name, listing, &end.records); !s.ok()) return s;
    wq::Status s =
        view.ForEachEntry(name, [&](const wq::Entry& entry) { return entry_row(name, entry); });
    if (!s.ok() || !*open) return s;
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

int Run(const DumpArgs& args) {
  const InterruptScope interrupts;
  std::unique_ptr<wq::StoreView> view;
  std::vector<std::string> names;
  wq::Status s = ViewQueues(args.store_dir, args.queue, &view, &names);
  if (!s.ok()) return Fail(s);
  if (!args.queue) LeaveOutUnfinished(&names);
  Output out;
  Listing listing(args.format,
                  {"QUEUE", "KEY", "STATE", "LANE", "GROUP", "SEQUENCE", "ADDED AT", "READY AT",
                   "FAILURES", "LAST ERROR"},
                  &out);
  bool open = true;
  s = Dump(*view, names, args, &listing, &open);
  const int code = s.ok() ? static_cast<int>(kExitOk) : Fail(s);
  listing.End(code == kExitOk && open);
  return out.Finish(code);
}

}  // namespace

Command ParseDump(const Input& input) {
  DumpArgs args;
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
