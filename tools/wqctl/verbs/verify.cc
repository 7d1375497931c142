// wqctl verify: every check of a store, offline and read-only.
#include <string>
#include <vector>

#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/json.h"
#include "tools/wqctl/text/listing.h"
#include "tools/wqctl/text/log.h"
#include "tools/wqctl/text/output.h"
#include "wq/keys.h"
#include "wq/verify.h"

namespace wqctl {
namespace {

constexpr const char* kVerifyExamples =
    R"(Looks at the files, at every block of every table and every record of the logs, at
every row of every queue, and at the rows against one another. Prints what is wrong,
one a line, and goes on. Exit code 0 if nothing is, 5 otherwise. Works beside a living
owner, whose store it sees at one moment, and after a crash, and changes nothing.

Examples:
  wqctl verify
  wqctl verify -o jsonl | jq -r .where
  wqctl --store DIR verify || wqctl --store DIR repair --into DIR.new)";

struct VerifyArgs {
  std::string store_dir;
  Format format = Format::kTable;
};

// What was looked at, so that silence means something.
void LogWhatWasSeen(const wq::VerifyReport& report) {
  std::string text = "looked at " + std::to_string(report.tables) + " tables, " +
                     std::to_string(report.logs) + " logs, " + std::to_string(report.rows) +
                     " rows of " + std::to_string(report.queues) + " queues";
  if (report.owner_alive) text += ", as they were at one moment: the store has a living owner";
  LogInfo(text);
  if (report.more_findings > 0) {
    LogWarning(std::to_string(report.more_findings) + " more findings are not shown");
  }
}

int Run(const VerifyArgs& args) {
  const InterruptScope interrupts;
  wq::VerifyReport report;
  if (wq::Status s = wq::Verify(args.store_dir, {}, &report); !s.ok()) return Fail(s);
  Output out;
  Listing listing(args.format, {"WHERE", "WHAT"}, &out);
  for (const wq::Finding& finding : report.findings) {
    const bool open = listing.Row([&](std::string* json) { AppendFindingJson(finding, json); },
                                  [&] {
                                    return std::vector<std::string>{finding.where, finding.what};
                                  });
    if (!open || Interrupted()) break;
  }
  // A sound store is no table with nothing in it.
  listing.End(args.format != Format::kTable || !report.ok());
  LogWhatWasSeen(report);
  return out.Finish(report.ok() ? kExitOk : kExitCorruption);
}

}  // namespace

Command ParseVerify(const Input& input) {
  VerifyArgs args;
  args.store_dir = input.store_dir;
  VerbParser parser({"verify", "Checks all of a store, without changing it.", "", kVerifyExamples},
                    &args.store_dir);
  AddListingFormat(&parser, &args.format);
  parser.Parse(input.words);
  NoMore(Concatenate(parser.positionals(), input.behind));
  return args;
}

}  // namespace wqctl
