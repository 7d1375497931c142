// The queues in a report: a row for each, and a section with charts.
#include <algorithm>
#include <cstdint>

#include "tools/wqctl/report/chart.h"
#include "tools/wqctl/report/html.h"
#include "tools/wqctl/report/report_page.h"
#include "tools/wqctl/report/store_text.h"
#include "wq/keys.h"

namespace wqctl {
namespace {

constexpr size_t kMaxQueueRows = 300;
constexpr size_t kMaxLaneBars = 10;
constexpr size_t kMaxErrorsShown = 10;
constexpr size_t kMaxCursorsShown = 20;
constexpr size_t kMaxErrorShown = 160;

bool IsEmpty(const wq::QueueSummary& queue) {
  return queue.pending + queue.delayed + queue.failing + queue.quarantined == 0 &&
         queue.cursors.empty();
}

std::string NumberCell(uint64_t count) {
  return "<td class=\"n" + std::string(count == 0 ? " zero" : "") + "\">" + GroupedCount(count) +
         "</td>";
}

std::string Tile(const std::string& shade, const std::string& name, const std::string& value,
                 const std::string& more) {
  return "<div class=\"tile " + shade + "\"><span>" + name + "</span><b>" + value + "</b><small>" +
         more + "</small></div>\n";
}

std::string Tiles(const wq::QueueSummary& queue, const Show& show) {
  const auto oldest = queue.oldest_added_at_us;
  const auto next = queue.next_ready_at_us;
  const auto count = [](const std::string& shade, uint64_t n, const std::string& more) {
    return Tile(shade + (n == 0 ? " none" : ""), shade, GroupedCount(n), more);
  };
  std::string html = "<div class=\"tiles\">\n";
  html += count("pending", queue.pending,
                oldest ? "oldest " + HtmlTime(show.Age(*oldest), *oldest) : "");
  html += count("delayed", queue.delayed, next ? "next " + HtmlTime(show.Until(*next), *next) : "");
  html += count("failing", queue.failing,
                queue.top_failing.empty()
                    ? ""
                    : "up to " + GroupedCount(queue.top_failing.front().failures.count) + " times");
  html += count("quarantined", queue.quarantined, "");
  return html + "</div>\n";
}

std::string Card(const std::string& title, const std::string& html) {
  return html.empty() ? ""
                      : "<figure><figcaption>" + title + "</figcaption>" + html + "</figure>\n";
}

bool Any(const Bars& bars) {
  return std::any_of(bars.begin(), bars.end(), [](const Bar& bar) { return bar.count > 0; });
}

std::string ColumnCard(const std::string& title, const Bars& bars, const std::string& shade) {
  return Any(bars) ? Card(title, ColumnChart(title, bars, shade)) : "";
}

std::string BarCard(const std::string& title, const Bars& bars, const std::string& shade) {
  return Any(bars) ? Card(title, BarChart(title, bars, shade)) : "";
}

Bars LaneBars(const wq::QueueSummary& queue) {
  Bars bars;
  uint64_t others = queue.other_lanes;
  for (const auto& [lane, count] : queue.lanes) {
    const std::string name = wq::LaneName(lane);
    if (bars.size() < kMaxLaneBars) {
      bars.push_back({"lane " + name, name, count});
    } else {
      others += count;
    }
  }
  if (others > 0) bars.push_back({"other lanes", "others", others});
  return bars;
}

Bars DepthBars(const wq::GroupDepths& depths) {
  Bars bars;
  for (const wq::GroupDepth& group : depths.top) {
    const std::string name = wq::EscapeKey(group.group);
    bars.push_back({name, name, group.pending});
  }
  return bars;
}

// "Pending by group", and the number of groups.
std::string DepthCard(const std::string& title, const wq::GroupDepths& depths) {
  std::string of = ", the deepest of ";
  if (depths.max_error > 0) {
    of += "more than " + GroupedCount(wq::kMaxSummaryGroups) + ", each up to " +
          GroupedCount(depths.max_error) + " more";
  } else {
    of += GroupedCount(depths.count);
  }
  return BarCard(title + (depths.count > depths.top.size() ? of : ""), DepthBars(depths),
                 "pending");
}

std::string ErrorItem(const wq::ErrorGroup& group, const Show& show) {
  std::string html =
      "<li><b>" + GroupedCount(group.keys) + (group.keys == 1 ? " key" : " keys") + "</b> " +
      (group.form.empty() ? "failed without a text" : HtmlBytes(group.form, kMaxErrorShown)) +
      " <small>" + GroupedCount(group.failures) + (group.failures == 1 ? " failure" : " failures");
  if (group.quarantined > 0) {
    html += ", " + GroupedCount(group.quarantined) + " in quarantine";
  }
  html += ", last " + HtmlTime(show.Ago(group.last_at_us), group.last_at_us) + "</small>";
  const wq::ErrorGroup::Example& example = group.examples.front();
  html += "<p><span class=\"key\">" + HtmlText(show.Key(example.key)) + "</span>";
  if (!example.error.empty()) html += ": " + HtmlBytes(example.error, kMaxErrorShown);
  return html + "</p></li>\n";
}

std::string ErrorsCard(const std::vector<wq::ErrorGroup>& errors, const Show& show) {
  if (errors.empty()) return "";
  std::string html = "<ol class=\"worst\">\n";
  const size_t shown = std::min(errors.size(), kMaxErrorsShown);
  for (size_t i = 0; i < shown; ++i) html += ErrorItem(errors[i], show);
  if (errors.size() > shown) {
    html += "<li>and " + GroupedCount(errors.size() - shown) + " more: <code>wqctl errors -q " +
            HtmlBytes(errors.front().queue) + "</code></li>\n";
  }
  return "<figure class=\"wide\"><figcaption>Errors, by what they have in common</figcaption>" +
         html + "</ol></figure>\n";
}

std::string CursorCard(const wq::QueueSummary& queue) {
  if (queue.cursors.empty()) return "";
  std::string html = "<ul class=\"cursors\">\n";
  uint64_t hidden = queue.other_cursors;
  size_t shown = 0;
  for (const auto& [name, bytes] : queue.cursors) {
    if (++shown > kMaxCursorsShown) {
      ++hidden;
      continue;
    }
    html +=
        "<li><span class=\"key\">" + HtmlBytes(name) + "</span> " + FormatBytes(bytes) + "</li>\n";
  }
  if (hidden > 0) html += "<li>and " + GroupedCount(hidden) + " more</li>\n";
  return Card("Cursors", html + "</ul>");
}

}  // namespace

std::string RenderQueues(const Report& report) {
  if (report.queues.empty()) return "<p class=\"note\">The store has no queue.</p>\n";
  if (report.queues.size() == 1) return "";
  std::string html =
      "<section><h2>Queues</h2><div class=\"scroll\"><table "
      "class=\"queues\"><thead><tr><th>queue</th>"
      "<th class=\"n\">pending</th><th class=\"n\">delayed</th><th class=\"n\">failing</th>"
      "<th class=\"n\">quarantined</th><th>oldest</th><th>next "
      "ready</th><th>paused</th></tr></thead>"
      "<tbody>\n";
  const size_t shown = std::min(report.queues.size(), kMaxQueueRows);
  for (size_t i = 0; i < shown; ++i) {
    const wq::QueueSummary& queue = report.queues[i];
    const auto time = [](const std::optional<int64_t>& us, const std::string& text) {
      return "<td>" + (us ? HtmlTime(text, *us) : "–") + "</td>";
    };
    const auto oldest = queue.oldest_added_at_us;
    const auto next = queue.next_ready_at_us;
    const std::string name = HtmlBytes(queue.name);
    html += "<tr><td class=\"key\"><a href=\"#queue-" + name + "\">" + name + "</a></td>";
    html += NumberCell(queue.pending) + NumberCell(queue.delayed) + NumberCell(queue.failing) +
            NumberCell(queue.quarantined);
    html += time(oldest, oldest ? report.show.Age(*oldest) : "");
    html += time(next, next ? report.show.Until(*next) : "");
    html += "<td>" + HtmlText(PauseText(queue, report.show)) + "</td></tr>\n";
  }
  html += "</tbody></table></div>\n";
  if (report.queues.size() > shown) {
    html += "<p class=\"note\">And " + GroupedCount(report.queues.size() - shown) + " more.</p>\n";
  }
  return html + "</section>\n";
}

std::string RenderQueue(const wq::QueueSummary& queue, const std::vector<wq::ErrorGroup>& errors,
                        const Show& show) {
  const std::string name = HtmlBytes(queue.name);
  std::string html = "<section class=\"queue\" id=\"queue-" + name + "\"><h2>" + name;
  if (queue.PausedAt(show.now_us)) {
    html += " <em>paused";
    if (queue.paused_until_us) html += ", resumes " + HtmlText(show.Until(*queue.paused_until_us));
    html += "</em>";
  }
  if (queue.shards > 0) html += " <em>" + GroupedCount(queue.shards) + " shards</em>";
  html += "</h2>\n";
  if (IsEmpty(queue)) return html + "<p class=\"note\">Nothing is in it.</p></section>\n";
  html += Tiles(queue, show) + "<div class=\"charts\">\n";
  // Charts of the same height beside one another.
  html += ColumnCard("Pending for", AgeBars(queue), "pending");
  html += ColumnCard("Due within", DueBars(queue), "delayed");
  html += ColumnCard("Delayed by", DelayBars(queue), "delayed");
  html += ColumnCard("Failures of a key", FailureBars(queue), "failing");
  html += BarCard("Pending by lane", LaneBars(queue), "pending") + CursorCard(queue);
  html += DepthCard("Pending by namespace", queue.namespaces);
  html += DepthCard("Pending by group", queue.groups) + ErrorsCard(errors, show);
  return html + "</div></section>\n";
}

}  // namespace wqctl
