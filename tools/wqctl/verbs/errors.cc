// wqctl errors: the errors of failing and quarantined keys, grouped. Changes nothing.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/errors/error_groups.h"
#include "tools/wqctl/cli/filter.h"
#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/cli/queues.h"
#include "tools/wqctl/cli/show.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/json.h"
#include "tools/wqctl/text/listing.h"
#include "tools/wqctl/text/log.h"
#include "tools/wqctl/text/number.h"
#include "tools/wqctl/text/output.h"
#include "wq/keys.h"
#include "wq/store_view.h"

namespace wqctl {
namespace {

constexpr const char* kErrorsExamples =
    R"(Groups the keys that fail, and those in quarantine, by their last errors: without
keys, numbers, ids, times, addresses, paths and what is in quotation marks. Most keys
first. Works beside a living owner and after a crash, and changes nothing.

Examples:
  wqctl errors
  wqctl errors -q pods --limit 5
  wqctl errors -q pods --state quarantined -o json | jq -r '.[0].examples[].error'
  wqctl ls -q pods --error 'connection refused')";

struct ErrorsArgs {
  std::string store_dir;
  std::optional<std::string> queue;
  Filter filter;
  std::optional<uint64_t> limit;  // Of groups.
  Show show;
  Format format = Format::kTable;
};

wq::Entry FailingEntry(const wq::FailingKey& failing) {
  wq::Entry entry;
  entry.state = wq::EntryState::kFailing;
  entry.key = failing.key;
  entry.failures = failing.failures;
  return entry;
}

// Adds the failing and quarantined keys of the queue that the filter selects. A key counts once,
// though it may be pending and delayed, too. Ends early, with Ok, when wqctl is interrupted.
wq::Status CollectErrors(const wq::StoreView& view, const std::string& queue, const Filter& filter,
                         int64_t now_us, wq::ErrorGroups* groups) {
  const auto add = [&](const wq::Entry& entry) {
    if (entry.failures && filter.Matches(entry, now_us)) {
      groups->Add({.queue = queue,
                   .key = entry.key,
                   .error = entry.failures->last_error,
                   .failures = entry.failures->count,
                   .first_at_us = entry.failures->first_at_us,
                   .last_at_us = entry.failures->last_at_us,
                   .quarantined = entry.state == wq::EntryState::kQuarantined});
    }
    return !Interrupted();
  };
  wq::Status s;
  if (filter.states.Has(wq::EntryState::kFailing)) {
    s = view.ForEachFailing(
        queue, [&](const wq::FailingKey& failing) { return add(FailingEntry(failing)); });
  }
  if (s.ok() && filter.states.Has(wq::EntryState::kQuarantined)) {
    s = view.ForEachEntry(queue, wq::EntryStates(wq::EntryState::kQuarantined), add);
  }
  return s;
}

std::vector<std::string> Cells(const wq::ErrorGroup& group, const ErrorsArgs& args) {
  std::vector<std::string> cells = {
      wq::EscapeKey(group.queue), std::to_string(group.keys), std::to_string(group.quarantined),
      std::to_string(group.failures), args.show.Ago(group.last_at_us)};
  if (args.format == Format::kWide) cells.push_back(args.show.Ago(group.first_at_us));
  cells.push_back(args.show.Key(group.examples.front().key));
  cells.push_back(group.form.empty() ? "-" : wq::EscapeKey(group.form));
  return cells;
}

int Run(const ErrorsArgs& args) {
  const InterruptScope interrupts;
  std::unique_ptr<wq::StoreView> view;
  std::vector<std::string> queues;
  wq::Status s = ViewQueues(args.store_dir, args.queue, &view, &queues);
  wq::ErrorGroups groups;
  for (const std::string& queue : queues) {
    if (s.ok()) s = CollectErrors(*view, queue, args.filter, args.show.now_us, &groups);
  }
  if (!s.ok()) return Fail(s);
  std::vector<std::string> header = {"QUEUE", "KEYS", "QUARANTINED", "FAILURES", "LAST"};
  if (args.format == Format::kWide) header.emplace_back("FIRST");
  header.insert(header.end(), {"EXAMPLE", "ERROR"});
  Output out;
  Listing listing(args.format, std::move(header), &out);
  uint64_t left = args.limit.value_or(wq::ErrorGroups::kMaxGroups);
  bool open = !Interrupted();
  for (const wq::ErrorGroup& group : groups.Sorted()) {
    if (!open || left-- == 0) break;
    open = listing.Row([&](std::string* json) { AppendErrorGroupJson(group, json); },
                       [&] { return Cells(group, args); },
                       [&] { return wq::EscapeKey(group.form) + "\n"; });
  }
  listing.End(open);
  if (groups.ungrouped() > 0) {
    LogWarning(std::to_string(groups.ungrouped()) +
               " keys have further errors: there are more than " +
               std::to_string(wq::ErrorGroups::kMaxGroups) + " different ones");
  }
  return out.Finish(kExitOk);
}

}  // namespace

Command ParseErrors(const Input& input) {
  ErrorsArgs args;
  VerbParser parser(input, {"Groups the keys that fail by their last errors.", "", kErrorsExamples},
                    &args.store_dir);
  AddOnlyQueue(&parser, &args.queue);
  AddFailureFilterOptions(&parser, &args.filter, &args.show.hex);
  AddParsed(&parser, "--limit", "N", "At most N groups", "a number", ParseNumber<uint64_t>,
            &args.limit);
  AddTimeOptions(&parser, &args.show);
  AddFormat(&parser, kListingFormats, &args.format);
  parser.ParseWithoutArguments();
  return args;
}

}  // namespace wqctl
