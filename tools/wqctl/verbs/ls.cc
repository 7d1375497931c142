// wqctl ls: lists entries. Changes nothing.
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

struct LsArgs {
  std::string store_dir;
  std::optional<std::string> queue;
  Filter filter;
  Show show;
  Format format = Format::kTable;
  bool null_separated = false;
};

int Run(const LsArgs& args) {
  const InterruptScope interrupts;
  std::unique_ptr<wq::StoreView> view;
  std::vector<std::string> names;
  wq::Status s = ViewQueues(args.store_dir, args.queue, &view, &names);
  if (!s.ok()) return Fail(s);
  Output out;
  const bool wide = args.format == Format::kWide;
  Listing listing(args.format, EntryHeader(wide), &out);
  bool open = true;
  s = VisitMatching(
      *view, names, args.filter, args.show.now_us,
      [&](const std::string& queue, const wq::Entry& entry) {
        open = listing.Row(
            [&](std::string* json) { AppendDumpLine(queue, entry, args.show.hex, json); },
            [&] { return EntryCells(queue, entry, args.show, wide); },
            [&] { return KeyLine(args.show, entry.key, args.null_separated ? '\0' : '\n'); });
        return open = open && !Interrupted();
      });
  const int code = s.ok() ? static_cast<int>(kExitOk) : Fail(s);
  listing.End(code == kExitOk && open);
  return out.Finish(code);
}

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

}  // namespace wqctl
