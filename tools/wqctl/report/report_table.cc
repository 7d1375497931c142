// The table of keys in a report.
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "tools/wqctl/cli/filter.h"
#include "tools/wqctl/report/html.h"
#include "tools/wqctl/report/report_page.h"
#include "wq/keys.h"

namespace wqctl {
namespace {

constexpr size_t kMaxErrorCell = 100;
constexpr size_t kMaxGroupCell = 64;
constexpr size_t kMaxPrintedRows = 100;  // As the style has it.

// A column. If it is not sorted by its text, the cell has the value to sort by.
struct KeyColumn {
  std::string_view name;
  std::string (*cell)(const ReportRow& row, const Show& show);
  bool descending = false;  // The order after the first click.
  bool always = true;       // False: the column is shown only if a row has a value.
};

std::string PlainCell(const std::string& html) {
  return html.empty() ? "<td></td>" : "<td>" + html + "</td>";
}

// A cell that is sorted by a number.
std::string SortedCell(const char* name, int64_t value, const std::string& html) {
  return std::string("<td class=\"n ") + name + "\" data-v=\"" + std::to_string(value) + "\">" +
         html + "</td>";
}

bool Placed(const wq::Entry& entry) { return entry.state != wq::EntryState::kFailing; }

std::string QueueNameCell(const ReportRow& row, const Show&) {
  return "<td class=\"queue\">" + HtmlBytes(row.queue) + "</td>";
}
std::string KeyTextCell(const ReportRow& row, const Show& show) {
  return "<td class=\"key\">" + HtmlText(show.Key(row.entry.key)) + "</td>";
}
std::string StateCell(const ReportRow& row, const Show&) {
  const std::string state(wq::EntryStateName(row.entry.state));
  return "<td><span class=\"state " + state + "\">" + state + "</span></td>";
}
std::string LaneCell(const ReportRow& row, const Show&) {
  if (!Placed(row.entry)) return PlainCell("");
  // The lane that is handed out first is sorted first.
  return "<td class=\"lane\" data-v=\"" + std::to_string(-int64_t{row.entry.lane}) + "\">" +
         wq::LaneName(row.entry.lane) + "</td>";
}
std::string GroupCell(const ReportRow& row, const Show&) {
  if (!Placed(row.entry) || row.entry.group.empty()) return PlainCell("");
  return "<td class=\"group\">" + HtmlBytes(row.entry.group, kMaxGroupCell) + "</td>";
}
std::string AgeCell(const ReportRow& row, const Show& show) {
  const int64_t began_us = AgeBeganUs(row.entry);
  return SortedCell("age", began_us, HtmlTime(show.Age(began_us), began_us));
}
std::string DueCell(const ReportRow& row, const Show& show) {
  if (row.entry.state != wq::EntryState::kDelayed) return PlainCell("");
  return SortedCell("due", row.entry.ready_at_us,
                    HtmlTime(show.Until(row.entry.ready_at_us), row.entry.ready_at_us));
}
std::string FailuresCell(const ReportRow& row, const Show&) {
  const uint64_t count = row.entry.failures ? row.entry.failures->count : 0;
  if (count == 0) return PlainCell("");
  return SortedCell("failures", static_cast<int64_t>(std::min<uint64_t>(count, INT64_MAX)),
                    GroupedCount(count));
}
std::string ErrorCell(const ReportRow& row, const Show&) {
  if (!row.entry.failures || row.entry.failures->last_error.empty()) return PlainCell("");
  return "<td class=\"error\">" + HtmlBytes(row.entry.failures->last_error, kMaxErrorCell) +
         "</td>";
}
std::string WhyCell(const ReportRow& row, const Show&) {
  return "<td class=\"why\">" + HtmlText(row.why) + "</td>";
}

constexpr std::array<KeyColumn, 10> kColumns = {{
    {.name = "queue", .cell = QueueNameCell, .always = false},
    {.name = "key", .cell = KeyTextCell},
    {.name = "state", .cell = StateCell},
    {.name = "lane", .cell = LaneCell},
    {.name = "group", .cell = GroupCell, .always = false},
    {.name = "age", .cell = AgeCell},
    {.name = "due", .cell = DueCell, .always = false},
    {.name = "failures", .cell = FailuresCell, .descending = true, .always = false},
    {.name = "last error", .cell = ErrorCell, .always = false},
    {.name = "listed as", .cell = WhyCell},
}};

// The columns that differ between rows.
std::vector<KeyColumn> ColumnsOf(const Report& report) {
  std::vector<KeyColumn> columns;
  for (const KeyColumn& column : kColumns) {
    const bool wanted =
        column.always ||
        (column.name == "queue"
             ? report.queues.size() > 1
             : std::any_of(report.rows.begin(), report.rows.end(), [&](const ReportRow& row) {
                 return column.cell(row, report.show) != "<td></td>";
               }));
    if (wanted) columns.push_back(column);
  }
  return columns;
}

std::string KeysHeader(const Report& report) {
  uint64_t pending = 0;
  uint64_t delayed = 0;
  uint64_t quarantined = 0;
  for (const wq::QueueSummary& queue : report.queues) {
    pending += queue.pending;
    delayed += queue.delayed;
    quarantined += queue.quarantined;
  }
  std::string html =
      "<section id=\"keys\"><h2>Keys</h2>\n<p class=\"note\">" + GroupedCount(report.rows.size()) +
      " entries: those that fail most, are in quarantine, are oldest, are due next, and are handed "
      "out "
      "next. There are " +
      GroupedCount(pending) + " pending, " + GroupedCount(delayed) + " delayed and " +
      GroupedCount(quarantined) + " quarantined; <code>wqctl ls</code> lists all.</p>\n";
  html +=
      "<form id=\"find\" hidden><label>Find <input id=\"search\" type=\"search\" "
      "placeholder=\"key, state, error …\" autocomplete=\"off\" spellcheck=\"false\"></label>"
      "<span class=\"words\">";
  for (const char* word : {"pending", "delayed", "quarantined", "fails most", "oldest"}) {
    html += std::string("<button type=\"button\" data-word=\"") + word + "\">" + word + "</button>";
  }
  return html + "</span><output id=\"shown\"></output></form>\n";
}

}  // namespace

std::string RenderKeys(const Report& report) {
  if (report.rows.empty()) return "";
  const std::vector<KeyColumn> columns = ColumnsOf(report);
  std::string html = KeysHeader(report) + "<div class=\"scroll\"><table class=\"rows\"><thead><tr>";
  for (const KeyColumn& column : columns) {
    html += std::string("<th scope=\"col\"") + (column.descending ? " data-down" : "") +
            "><button type=\"button\">" + std::string(column.name) + "</button></th>";
  }
  html += "</tr></thead><tbody>\n";
  for (const ReportRow& row : report.rows) {
    html += "<tr>";
    for (const KeyColumn& column : columns) html += column.cell(row, report.show);
    html += "</tr>\n";
  }
  html += "</tbody></table></div>\n";
  if (report.rows.size() > kMaxPrintedRows) {
    html += "<p class=\"note paper\">Only the first " + std::to_string(kMaxPrintedRows) +
            " entries are on paper.</p>\n";
  }
  return html + "</section>\n";
}

}  // namespace wqctl
