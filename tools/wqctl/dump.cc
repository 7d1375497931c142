// wqctl dump: every entry, streaming; quarantine ls: those in quarantine. Both change nothing.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/wqctl/duration.h"
#include "tools/wqctl/exit_code.h"
#include "tools/wqctl/json.h"
#include "tools/wqctl/listing.h"
#include "tools/wqctl/output.h"
#include "tools/wqctl/verbs.h"
#include "wq/keys.h"
#include "wq/store_view.h"

namespace wqctl {
namespace {

using Row = std::vector<std::string>;

Row EntryRow(const std::string& queue, const wq::Entry& entry) {
  const bool pending = entry.state == wq::EntryState::kPending;
  const bool delayed = entry.state == wq::EntryState::kDelayed;
  const bool placed = entry.state != wq::EntryState::kFailing;
  return {wq::EscapeKey(queue),
          wq::EscapeKey(entry.key),
          std::string(StateName(entry.state)),
          placed ? wq::LaneName(entry.lane) : "-",
          entry.group.empty() ? "-" : wq::EscapeKey(entry.group),
          pending ? std::to_string(entry.sequence) : "-",
          pending || delayed ? FormatTime(entry.added_at_us) : "-",
          delayed ? FormatTime(entry.ready_at_us) : "-",
          std::to_string(entry.failures ? entry.failures->count : 0),
          entry.failures ? wq::EscapeKey(entry.failures->last_error) : "-"};
}

Row QuarantinedRow(const std::string& queue, const wq::Entry& entry) {
  return {wq::EscapeKey(queue),
          wq::EscapeKey(entry.key),
          wq::LaneName(entry.lane),
          entry.group.empty() ? "-" : wq::EscapeKey(entry.group),
          FormatTime(entry.quarantined_at_us),
          std::to_string(entry.failures->count),
          wq::EscapeKey(entry.failures->last_error)};
}

using Walk = wq::Status (wq::StoreView::*)(std::string_view, const wq::StoreView::Visitor&) const;

// Prints what `walk` visits of the one queue, or of all.
int List(const std::string& store_dir, const std::optional<std::string>& queue, Walk walk,
         Row (*cells)(const std::string&, const wq::Entry&), Listing* listing, Output* out) {
  std::unique_ptr<wq::StoreView> view;
  if (wq::Status s = wq::StoreView::Open(store_dir, &view); !s.ok()) return Fail(s);
  const std::vector<std::string> names =
      queue ? std::vector<std::string>{*queue} : view->QueueNames();
  int code = kExitOk;
  bool open = true;
  for (const std::string& name : names) {
    wq::Status s = (view.get()->*walk)(name, [&](const wq::Entry& entry) {
      open = listing->Row([&](std::string* json) { AppendEntryJson(name, entry, json); },
                          [&] { return cells(name, entry); }) &&
             !Interrupted();
      return open;
    });
    if (!s.ok()) code = Fail(s);
    if (!s.ok() || !open) break;
  }
  listing->End(code == kExitOk && open);
  return out->Finish(code);
}

}  // namespace

int Run(const DumpArgs& args) {
  const InterruptScope interrupts;
  Output out;
  Listing listing(args.format,
                  {"QUEUE", "KEY", "STATE", "LANE", "GROUP", "SEQUENCE", "ADDED AT", "READY AT",
                   "FAILURES", "LAST ERROR"},
                  &out);
  return List(args.store_dir, args.queue, &wq::StoreView::ForEachEntry, EntryRow, &listing, &out);
}

int Run(const QuarantineLsArgs& args) {
  const InterruptScope interrupts;
  Output out;
  Listing listing(args.format,
                  {"QUEUE", "KEY", "LANE", "GROUP", "QUARANTINED AT", "FAILURES", "LAST ERROR"},
                  &out);
  return List(args.store_dir, args.queue, &wq::StoreView::ForEachQuarantined, QuarantinedRow,
              &listing, &out);
}

}  // namespace wqctl
