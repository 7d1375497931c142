// wqctl ls: lists entries; quarantine ls: entries in quarantine. Both change nothing.
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
#include "tools/wqctl/text/output.h"
#include "tools/wqctl/verbs/entry_row.h"
#include "wq/keys.h"
#include "wq/store_view.h"

namespace wqctl {
namespace {

using wq::EntryState;
using Cells = std::vector<std::string>;

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

constexpr const char* kQuarantineLsExamples =
    R"(Works beside a living owner and after a crash, and changes nothing.

Examples:
  wqctl quarantine ls
  wqctl quarantine ls -q pods -o jsonl | jq -r .key)";

struct LsArgs {
  std::string store_dir;
  std::optional<std::string> queue;
  Filter filter;
  Show show;
  Format format = Format::kTable;
  bool null_separated = false;
};

struct QuarantineLsArgs : LsArgs {};

Cells LsRow(const std::string& queue, const wq::Entry& entry, const LsArgs& args) {
  return EntryCells(queue, entry, args.show, args.format == Format::kWide);
}

Cells QuarantineLsRow(const std::string& queue, const wq::Entry& entry, const LsArgs& args) {
  return {wq::EscapeKey(queue),
          args.show.Key(entry.key),
          wq::LaneName(entry.lane),
          entry.group.empty() ? "-" : wq::EscapeKey(entry.group),
          FormatTime(entry.quarantined_at_us),
          std::to_string(entry.failures->count),
          wq::EscapeKey(entry.failures->last_error)};
}

// Prints the entries that the filter selects, of one queue or of all.
int List(const LsArgs& args, Cells header,
         Cells (*cells)(const std::string&, const wq::Entry&, const LsArgs&)) {
  const InterruptScope interrupts;
  std::unique_ptr<wq::StoreView> view;
  std::vector<std::string> names;
  wq::Status s = ViewQueues(args.store_dir, args.queue, &view, &names);
  if (!s.ok()) return Fail(s);
  Output out;
  Listing listing(args.format, std::move(header), &out);
  bool open = true;
  s = VisitMatching(
      *view, names, args.filter, args.show.now_us,
      [&](const std::string& queue, const wq::Entry& entry) {
        open = listing.Row(
            [&](std::string* json) { AppendDumpLine(queue, entry, args.show.hex, json); },
            [&] { return cells(queue, entry, args); },
            [&] { return KeyLine(args.show, entry.key, args.null_separated ? '\0' : '\n'); });
        return open = open && !Interrupted();
      });
  const int code = s.ok() ? static_cast<int>(kExitOk) : Fail(s);
  listing.End(code == kExitOk && open);
  return out.Finish(code);
}

int Run(const LsArgs& args) { return List(args, EntryHeader(args.format == Format::kWide), LsRow); }

int Run(const QuarantineLsArgs& args) {
  return List(args, {"QUEUE", "KEY", "LANE", "GROUP", "QUARANTINED AT", "FAILURES", "LAST ERROR"},
              QuarantineLsRow);
}

template <typename Args>
Command ParseListing(const Input& input, const VerbParser::Verb& verb, Args args) {
  VerbParser parser(input, verb, &args.store_dir);
  AddOnlyQueue(&parser, &args.queue);
  AddFilterOptions(&parser, &args.filter, &args.show.hex);
  AddTimeOptions(&parser, &args.show);
  AddFormat(&parser, kListingFormats, &args.format);
  parser.Flag("-0,--null", "With -o name: end each key with NUL", &args.null_separated);
  parser.ParseWithoutArguments();
  if (args.null_separated && args.format != Format::kName) Usage("--null goes with -o name");
  return args;
}

}  // namespace

Command ParseLs(const Input& input) {
  return ParseListing(
      input, {"Lists entries, in the order in which keys are handed out.", "", kLsExamples},
      LsArgs{});
}

Command ParseQuarantineLs(const Input& input) {
  QuarantineLsArgs args;
  args.filter.states = wq::EntryStates(EntryState::kQuarantined);
  return ParseListing(
      input, {"Lists the keys in quarantine, with their last errors.", "", kQuarantineLsExamples},
      std::move(args));
}

}  // namespace wqctl
