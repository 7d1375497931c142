// wqctl repair: saves what can be read of a damaged store into a new one.
#include <string>
#include <vector>

#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/json.h"
#include "tools/wqctl/text/listing.h"
#include "tools/wqctl/text/log.h"
#include "tools/wqctl/text/output.h"
#include "tools/wqctl/text/progress.h"
#include "tools/wqctl/verbs/steps.h"
#include "wq/keys.h"
#include "wq/repair.h"

namespace wqctl {
namespace {

constexpr const char* kRepairExamples =
    R"(Reads the store DIR and makes a new one. DIR itself is never changed. Prints each loss on
a line: the file, the range, and the number of records if it is known. Exit code 0 if
everything was saved, 5 if something was lost. A key that was done, or an older failure
count, may reappear: a key may be reconciled once more.

Examples:
  wqctl --store pods.wq verify
  wqctl --store pods.wq repair --into pods.new.wq
  mv pods.wq pods.damaged.wq && mv pods.new.wq pods.wq)";

struct RepairArgs {
  std::string store_dir;
  std::string into;
  Format format = Format::kTable;
};

int Run(const RepairArgs& args) {
  const InterruptScope interrupts;
  wq::RepairReport report;
  ProgressLine progress({.name = "repair"});
  const wq::RepairOptions options = {.cancelled = Interrupted,
                                     .progress = StepsOf("repair", &progress)};
  wq::Status s = wq::Repair(args.store_dir, args.into, options, &report);
  if (!s.ok()) return Fail(s);
  Output out;
  Listing listing(args.format, {"WHERE", "LOST"}, &out);
  for (const wq::Loss& loss : report.losses) {
    if (!listing.Row([&](std::string* json) { AppendLossJson(loss, json); },
                     [&] {
                       return std::vector<std::string>{loss.where, loss.what};
                     },
                     [&] { return loss.where + "\n"; })) {
      break;
    }
  }
  listing.End(!IsTable(args.format) || !report.losses.empty());
  LogInfo("saved " + std::to_string(report.records) + " records of " +
          std::to_string(report.queues) + " queues in " + wq::EscapeKey(args.into, 4096));
  return out.Finish(report.losses.empty() ? kExitOk : kExitCorruption);
}

}  // namespace

Command ParseRepair(const Input& input) {
  RepairArgs args;
  VerbParser parser(input,
                    {"Saves the readable records of a damaged store into a new one.", " --into NEW",
                     kRepairExamples},
                    &args.store_dir);
  parser.Required("--into", "NEW", "The directory of the new store; it must not exist", &args.into);
  AddFormat(&parser, kListingFormats, &args.format);
  parser.ParseWithoutArguments();
  return args;
}

}  // namespace wqctl
