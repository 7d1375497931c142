// wqctl verify: every check of a store, offline and read-only.
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

constexpr const char* kAfterDamage =
    "restore a snapshot (wqctl snapshot restore), or save what can be read (wqctl repair --into "
    "NEW)";

struct VerifyArgs {
  std::string store_dir;
  Format format = Format::kTable;
};

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
  const wq::VerifyOptions options = {.progress = StepsOf("verify", &progress)};
  if (wq::Status s = wq::Verify(args.store_dir, options, &report); !s.ok()) return Fail(s);
  Output out;
  Listing listing(args.format, {"WHERE", "WHAT"}, &out);
  for (const wq::Finding& finding : report.findings) {
    const bool open = listing.Row([&](std::string* json) { AppendFindingJson(finding, json); },
                                  [&] {
                                    return std::vector<std::string>{finding.where, finding.what};
                                  },
                                  [&] { return finding.where + "\n"; });
    if (!open) break;
  }
  // Without findings, no empty table is printed.
  listing.End(!IsTable(args.format) || !report.ok());
  LogChecked(report);
  if (!report.ok()) LogInfo(kAfterDamage);
  return out.Finish(report.ok() ? kExitOk : kExitCorruption);
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

}  // namespace wqctl
