#include "tools/wqctl/report/report_page.h"

#include <algorithm>
#include <cstdint>

#include "tools/wqctl/report/html.h"
#include "tools/wqctl/report/report_findings.h"
#include "tools/wqctl/report/store_text.h"
#include "tools/wqctl/text/duration.h"
#include "wq/keys.h"

namespace wqctl {
namespace {

constexpr size_t kMaxFindings = 12;
constexpr size_t kMaxSectionBytes = 250'000;  // Of all sections of queues.

std::string RenderHead(const std::string& title) {
  return R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content=")" +
         ReportPolicy() + R"(">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>)" +
         title + "</title>\n<style>" + std::string(ReportStyle()) + "</style>\n</head>\n<body>\n";
}

std::string Fact(const std::string& name, const std::string& html, const std::string& shape = "") {
  return "<div class=\"" + shape + "\"><dt>" + name + "</dt><dd>" + html + "</dd></div>\n";
}

std::string RenderStore(const wq::StoreInfo& store, const Show& show) {
  const auto ago = [&show](int64_t us) { return HtmlTime(show.Ago(us), us); };
  std::string html = "<dl class=\"facts\">\n";
  html += Fact("store", HtmlBytes(store.dir, 4096), "long");
  if (store.snapshot_at_us != 0) html += Fact("snapshot", "taken " + ago(store.snapshot_at_us));
  html += Fact("owner", HtmlText(OwnerText(store)));
  if (store.opened_at_us != 0) html += Fact("opened", ago(store.opened_at_us));
  if (store.written_at_us != 0) html += Fact("written", ago(store.written_at_us));
  html += Fact("made", ago(store.created_at_us));
  html += Fact("format", std::to_string(store.format_version));
  html += Fact("uuid", HtmlBytes(store.uuid), "long");
  html += Fact("files", HtmlText(FilesText(store)), "long");
  return html + "</dl>\n";
}

std::string RenderFindings(const Report& report) {
  const std::vector<ReportFinding> found = FindingsOf(report.store, report.queues, report.show);
  std::string html = "<section class=\"standsout\"><h2>Findings</h2>\n";
  if (found.empty()) {
    return html +
           "<p class=\"fine\">Nothing: no key fails or is in quarantine, none has been pending for "
           "more than an hour, and no queue is paused.</p></section>\n";
  }
  html += "<ul>\n";
  for (size_t i = 0; i < std::min(found.size(), kMaxFindings); ++i) {
    const ReportFinding& item = found[i];
    html += item.weight == Weight::kBad ? "<li class=\"bad\">" : "<li class=\"odd\">";
    html += "<b>" + HtmlText(item.subject) + "</b> " + HtmlText(item.text);
    if (!item.command.empty()) html += " <code>" + HtmlText(item.command) + "</code>";
    html += "</li>\n";
  }
  html += "</ul>\n";
  if (found.size() > kMaxFindings) {
    html += "<p>And " + std::to_string(found.size() - kMaxFindings) + " more.</p>\n";
  }
  return html + "</section>\n";
}

// As many queues as fit on the page, in the order of their names.
std::string RenderSections(const Report& report) {
  std::string html;
  size_t shown = 0;
  for (; shown < report.queues.size() && html.size() < kMaxSectionBytes; ++shown) {
    html += RenderQueue(report.queues[shown], report.errors[shown], report.show);
  }
  if (const size_t left = report.queues.size() - shown; left > 0) {
    html += "<p class=\"note\">" + GroupedCount(left) +
            " more queues have no section here; <code>wqctl report -q NAME</code> shows one.</p>\n";
  }
  return html;
}

}  // namespace

std::string RenderReport(const Report& report) {
  const std::string title = HtmlBytes(report.title, 200);
  std::string html = RenderHead(title);
  html += "<header><h1>" + title + "</h1>\n<p>As of <b>" + FormatTime(report.show.now_us) +
          "</b>, from what is on disk. Written by wqctl report " WQ_VERSION
          ".</p></header>\n<main>\n";
  html += RenderFindings(report);
  html += RenderStore(report.store, report.show);
  html += RenderQueues(report);
  html += RenderSections(report);
  html += RenderKeys(report);
  html += "</main>\n<script>" + std::string(ReportScript()) + "</script>\n</body>\n</html>\n";
  return html;
}

}  // namespace wqctl
