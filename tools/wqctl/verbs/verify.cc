// wqctl verify: every check of a store, offline and read-only. wqctl repair: saves what can be read
// of a damaged store into a new one.
#include <string>
#include <utility>
#include <vector>

#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/json.h"
#include "tools/wqctl/text/listing.h"
#include "tools/wqctl/text/log.h"
#include "tools/wqctl/text/output.h"
#include "tools/wqctl/text/progress.h"
#include "wq/keys.h"
#include "wq/repair.h"
#include "wq/verify.h"

namespace wqctl {
namespace {

constexpr const char* kVerifyExamples =
    R"(Checks the files, every block of every table, every record of the logs, every row of
every queue, and the rows against one another. Prints each finding on a line, and
continues. Exit code 0 without findings, 5 otherwise. Works beside a living owner, whose
store it checks as of one instant, and after a crash, and changes nothing.

Examples:
  wqctl verify
  wqctl verify -o jsonl | jq -r .where
  wqctl --store DIR verify || wqctl --store DIR repair --into DIR.new)";

constexpr const char* kRepairExamples =
    R"(Reads the store DIR and makes a new one. DIR itself is never changed. Prints each loss on
a line: the file, the range, and the number of records if it is known. Exit code 0 if
everything was saved, 5 if something was lost. A key that was done, or an older failure
count, may reappear: a key may be reconciled once more.

Examples:
  wqctl --store pods.wq verify
  wqctl --store pods.wq repair --into pods.new.wq
  mv pods.wq pods.damaged.wq && mv pods.new.wq pods.wq)";

constexpr const char* kAfterDamage =
    "restore a snapshot (wqctl snapshot restore), or save what can be read (wqctl repair --into "
    "NEW)";

struct VerifyArgs {
  std::string store_dir;
  Format format = Format::kTable;
};

struct RepairArgs {
  std::string store_dir;
  std::string into;
  Format format = Format::kTable;
};

// Prints a row for each finding or loss; `name`: of what it says, in JSON. Without any, a table is
// not printed either.
template <typename Found>
void PrintRows(const std::vector<Found>& all, std::vector<std::string> header, const char* name,
               Format format, Output* out) {
  Listing listing(format, std::move(header), out);
  for (const Found& found : all) {
    const bool open = listing.Row(
        [&](std::string* json) { AppendWhereJson(found.where, name, found.what, json); },
        [&] {
          return std::vector<std::string>{found.where, found.what};
        },
        [&] { return found.where + "\n"; });
    if (!open) break;
  }
  listing.End(!IsTable(format) || !all.empty());
}

// Reports how much was checked, so that no findings means something.
void LogChecked(const wq::VerifyReport& report) {
  std::string text = "checked " + std::to_string(report.tables) + " tables, " +
                     std::to_string(report.logs) + " logs, " + std::to_string(report.rows) +
                     " rows of " + std::to_string(report.queues) + " queues";
  if (report.owner_alive) text += ", as of one instant: the store has a living owner";
  LogInfo(text);
  if (report.more_findings > 0) {
    LogWarning(std::to_string(report.more_findings) + " more findings are not shown");
  }
}

int Run(const VerifyArgs& args) {
  wq::VerifyReport report;
  ProgressLine progress({.name = "verify"});
  const wq::VerifyOptions options = {.progress = progress.StepsOf("verify")};
  if (wq::Status s = wq::Verify(args.store_dir, options, &report); !s.ok()) return Fail(s);
  Output out;
  PrintRows(report.findings, {"WHERE", "WHAT"}, "what", args.format, &out);
  LogChecked(report);
  if (!report.ok()) LogInfo(kAfterDamage);
  return out.Finish(report.ok() ? kExitOk : kExitCorruption);
}

int Run(const RepairArgs& args) {
  const InterruptScope interrupts;
  wq::RepairReport report;
  ProgressLine progress({.name = "repair"});
  const wq::RepairOptions options = {.cancelled = Interrupted,
                                     .progress = progress.StepsOf("repair")};
  wq::Status s = wq::Repair(args.store_dir, args.into, options, &report);
  if (!s.ok()) return Fail(s);
  Output out;
  PrintRows(report.losses, {"WHERE", "LOST"}, "lost", args.format, &out);
  LogInfo("saved " + std::to_string(report.records) + " records of " +
          std::to_string(report.queues) + " queues in " + wq::EscapeKey(args.into, 4096));
  return out.Finish(report.losses.empty() ? kExitOk : kExitCorruption);
}

}  // namespace

Command ParseVerify(const Input& input) {
  VerifyArgs args;
  VerbParser parser(input, {"Checks all of a store, without changing it.", "", kVerifyExamples},
                    &args.store_dir);
  AddFormat(&parser, kListingFormats, &args.format);
  parser.ParseWithoutArguments();
  return args;
}

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
