// wqctl report: a store as one HTML page. Changes nothing in the store.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "tools/wqctl/cli/collect_errors.h"
#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/cli/queues.h"
#include "tools/wqctl/cli/show.h"
#include "tools/wqctl/report/report_page.h"
#include "tools/wqctl/report/report_rows.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/new_file.h"
#include "tools/wqctl/text/number.h"
#include "tools/wqctl/text/output.h"
#include "wq/store_view.h"

namespace wqctl {
namespace {

constexpr size_t kDefaultRows = 500;
constexpr size_t kMaxRows = 10'000;

constexpr const char* kReportExamples =
    R"(Signs of trouble, the numbers of wqctl inspect as charts, and a table of keys that can be
searched and sorted. One file that fetches nothing, for a browser, a printer or a ticket.
FILE appears when it is complete, and then replaces an existing file. "-" is standard
output. Works beside a living owner and after a crash, and changes nothing.

Examples:
  wqctl report -o pods.html
  wqctl report -q pods --limit 2000 --title "pods, Monday night" -o pods.html
  wqctl --store night report --now 2026-01-31T03:12:00Z -o night.html
  wqctl report -o - | ssh desk 'cat > pods.html')";

struct ReportArgs {
  std::string store_dir;
  std::optional<std::string> queue;
  std::string file;
  std::string title;  // Empty: derived from the store's name.
  size_t limit = kDefaultRows;
  Show show;
};

std::string TitleOf(const ReportArgs& args) {
  if (!args.title.empty()) return args.title;
  std::error_code error;
  const std::filesystem::path dir = std::filesystem::weakly_canonical(args.store_dir, error);
  std::string title = error || !dir.has_filename() ? args.store_dir : dir.filename().string();
  return args.queue ? *args.queue + " in " + title : title;
}

wq::Status MakeReport(const wq::StoreView& view, const ReportArgs& args,
                      const std::vector<std::string>& names, Report* report) {
  report->title = TitleOf(args);
  report->store = view.info();
  report->show = args.show;
  const size_t wanted = RowsWanted(args.limit, names.size());
  const wq::SummaryOptions options{
      .top_failing = wanted, .top_oldest = wanted, .now_us = args.show.now_us};
  Filter failed;
  failed.states = wq::EntryStates(wq::EntryState::kFailing);
  failed.states.Add(wq::EntryState::kQuarantined);
  for (const std::string& name : names) {
    wq::Status s = view.Summarize(name, options, &report->queues.emplace_back());
    wq::ErrorGroups errors;
    if (s.ok()) s = CollectErrors(view, name, failed, args.show.now_us, &errors);
    report->errors.push_back(errors.Sorted());
    if (!s.ok() || Interrupted()) return s;
  }
  return PickRows(view, report->queues, args.limit, args.show.now_us, &report->rows);
}

int Run(const ReportArgs& args) {
  const InterruptScope interrupts;
  std::unique_ptr<wq::StoreView> view;
  std::vector<std::string> names;
  wq::Status s = ViewQueues(args.store_dir, args.queue, &view, &names);
  if (!s.ok()) return Fail(s);
  // Created first, so that an error is reported before the work is done.
  NewFile file;
  const bool to_stdout = args.file == "-";
  if (!to_stdout) s = file.Open(args.file);
  Report report;
  if (s.ok()) s = MakeReport(*view, args, names, &report);
  if (Interrupted()) return kExitFailure;
  if (!s.ok()) return Fail(s);
  const std::string page = RenderReport(report);
  if (to_stdout) {
    Output out;
    out.Write(page);
    return out.Finish(kExitOk);
  }
  s = file.Write(page);
  if (s.ok() && Interrupted()) return kExitFailure;
  if (s.ok()) s = file.Commit();
  return s.ok() ? static_cast<int>(kExitOk) : Fail(s);
}

}  // namespace

Command ParseReport(const Input& input) {
  ReportArgs args;
  VerbParser parser(input, {"Writes a page that shows the queues.", "", kReportExamples},
                    &args.store_dir);
  parser.Required("-o,--output", "FILE", "The file to write; - is standard output", &args.file);
  AddOnlyQueue(&parser, &args.queue);
  parser.Text("--title", "TEXT", "The title; default: the name of the store's directory",
              &args.title);
  AddParsed(&parser, "--limit", "N", "At most N keys in the table; default 500, at most 10000",
            "a number up to 10000", ParseNumber<size_t, 0, kMaxRows>, &args.limit);
  parser.Flag("--hex", "Keys in hexadecimal", &args.show.hex);
  AddNow(&parser, &args.show);
  parser.ParseWithoutArguments();
  if (args.file.empty()) Usage("which file? -o FILE, or -o - for standard output");
  return args;
}

}  // namespace wqctl
