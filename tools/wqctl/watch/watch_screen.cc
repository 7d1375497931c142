#include "tools/wqctl/watch/watch_screen.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>

#include "tools/wqctl/text/duration.h"
#include "tools/wqctl/text/table.h"
#include "tools/wqctl/text/terminal.h"
#include "wq/keys.h"

namespace wqctl {
namespace {

constexpr size_t kDepthsKept = 120;
constexpr size_t kColumnGap = 2;
constexpr size_t kLeastSparkline = 8;
constexpr size_t kNameWidth = 24;

// "12.3", "4567", "+0.5"; "-" if unknown.
std::string RateText(const std::optional<double>& rate, bool sign) {
  if (!rate) return "-";
  std::array<char, 32> text;
  const bool whole = std::fabs(*rate) >= 100 || *rate == 0;
  std::snprintf(text.data(), text.size(), sign && *rate != 0 ? "%+.*f" : "%.*f", whole ? 0 : 1,
                *rate);
  return text.data();
}

struct Column {
  std::string header;
  int weight;  // The column of least weight is left out first.
  bool left = false;
  std::vector<std::string> cells = {};

  size_t Width() const {
    size_t width = WidthOf(header);
    for (const std::string& cell : cells) width = std::max(width, WidthOf(cell));
    return width;
  }
};

std::vector<Column> ColumnsOf(const Sample& sample) {
  std::vector<Column> columns = {{"QUEUE", 10, true}, {"PENDING", 9}, {"WORKING", 4},
                                 {"DELAYED", 6},      {"FAILING", 7}, {"QUARANTINED", 3}};
  if (sample.live) {
    for (const char* const header : {"ADD/s", "DONE/s", "FAIL/s"}) columns.push_back({header, 5});
  } else {
    columns.push_back({"CHANGE/s", 5});
  }
  for (const QueueSample& queue : sample.queues) {
    std::vector<std::string> row = {Fit(queue.name, kNameWidth),
                                    std::to_string(queue.pending),
                                    queue.processing ? std::to_string(*queue.processing) : "-",
                                    std::to_string(queue.delayed),
                                    std::to_string(queue.failing),
                                    std::to_string(queue.quarantined)};
    if (sample.live) {
      for (const auto& rate : {queue.added, queue.done, queue.failed}) {
        row.push_back(RateText(rate, false));
      }
    } else {
      row.push_back(RateText(queue.pending_change, true));
    }
    for (size_t i = 0; i < columns.size(); ++i) columns[i].cells.push_back(std::move(row[i]));
  }
  return columns;
}

size_t TotalWidth(const std::vector<Column>& columns) {
  size_t width = 0;
  for (const Column& column : columns) width += column.Width() + kColumnGap;
  return width;
}

void LeaveOutUntilItFits(size_t width, std::vector<Column>* columns) {
  while (columns->size() > 1 && TotalWidth(*columns) > width + kColumnGap) {
    const auto least =
        std::min_element(columns->rbegin(), columns->rend(),
                         [](const Column& a, const Column& b) { return a.weight < b.weight; });
    columns->erase(std::next(least).base());
  }
}

void Append(const Column& column, size_t width, const std::string& cell, std::string* line) {
  const std::string padding(width - std::min(width, WidthOf(cell)), ' ');
  *line += column.left ? cell + padding : padding + cell;
  line->append(kColumnGap, ' ');
}

std::string Heading(const Sample& sample) {
  // The time of day is enough on a live screen.
  std::string text = FormatTime(sample.wall_us).substr(11, 8) + "Z  ";
  if (sample.live) return text + "process " + std::to_string(sample.owner_pid) + ", live";
  text += sample.owner_pid == 0 ? "no owner" : "process " + std::to_string(sample.owner_pid);
  return text + ", as on disk";
}

std::vector<std::string> KeyLines(const Sample& sample, size_t width) {
  std::vector<std::string> lines;
  const bool several = sample.queues.size() > 1;
  for (const QueueSample& queue : sample.queues) {
    for (const wq::FailingKey& failing : queue.top_failing) {
      std::string count = std::to_string(failing.failures.count);
      count.insert(0, 8 - std::min<size_t>(8, count.size()), ' ');
      std::string line = count + "  " + (several ? wq::EscapeKey(queue.name) + "  " : "") +
                         wq::EscapeKey(failing.key, 64);
      if (!failing.failures.last_error.empty()) {
        line += "  " + wq::EscapeKey(failing.failures.last_error);
      }
      lines.push_back(Fit(line, width));
    }
  }
  return lines;
}

}  // namespace

std::string Fit(std::string_view text, size_t width) {
  if (WidthOf(text) <= width) return std::string(text);
  std::string fitting;
  size_t columns = 0;
  for (const char c : text) {
    columns += WidthOf({&c, 1});
    if (columns >= width) break;
    fitting.push_back(c);
  }
  return width == 0 ? "" : fitting + "…";
}

std::string Sparkline(const std::deque<uint64_t>& values, size_t width) {
  constexpr std::array<std::string_view, 8> kBars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const size_t n = std::min(width, values.size());
  const auto begin = values.end() - static_cast<std::ptrdiff_t>(n);
  const uint64_t most = n == 0 ? 0 : *std::max_element(begin, values.end());
  std::string line;
  for (auto it = begin; it != values.end(); ++it) {
    const double share = most == 0 ? 0 : static_cast<double>(*it) / static_cast<double>(most);
    line += kBars[static_cast<size_t>(std::lround(share * (kBars.size() - 1)))];
  }
  return line;
}

void WatchScreen::Remember(const Sample& sample) {
  for (const QueueSample& queue : sample.queues) {
    std::deque<uint64_t>& depths = depths_[queue.name];
    depths.push_back(queue.pending);
    if (depths.size() > kDepthsKept) depths.pop_front();
  }
}

std::string WatchScreen::Styled(std::string_view style, const std::string& line) const {
  return colour_ ? std::string(style).append(line).append(kPlain) : line;
}

std::vector<std::string> WatchScreen::QueueLines(const Sample& sample, size_t width) const {
  std::vector<Column> columns = ColumnsOf(sample);
  LeaveOutUntilItFits(width, &columns);
  const size_t used = TotalWidth(columns);
  const size_t room = used + kLeastSparkline <= width ? width - used : 0;
  std::string header;
  std::vector<size_t> widths;
  for (const Column& column : columns) {
    widths.push_back(column.Width());
    Append(column, widths.back(), column.header, &header);
  }
  if (room > 0) header += "DEPTH";
  std::vector<std::string> lines = {Styled(kBold, Fit(header, width))};
  for (size_t row = 0; row < sample.queues.size(); ++row) {
    std::string line;
    for (size_t i = 0; i < columns.size(); ++i) {
      Append(columns[i], widths[i], columns[i].cells[row], &line);
    }
    const QueueSample& queue = sample.queues[row];
    if (room > 0) line += Sparkline(depths_.at(queue.name), std::min(room, kDepthsKept));
    while (line.ends_with(' ')) line.pop_back();
    line = Fit(line, width);
    lines.push_back(queue.paused ? Styled(kYellow, line) : line);
    if (queue.paused) lines.push_back(Fit("  paused", width));
  }
  return lines;
}

std::vector<std::string> WatchScreen::Render(const Sample& sample, size_t width, size_t height) {
  Remember(sample);
  std::vector<std::string> lines = {Fit(Heading(sample), width)};
  if (!sample.health.ok()) {
    const std::string why = "NOT DURABLE: " + wq::EscapeKey(sample.health.message(), 1024);
    lines.push_back(Styled(kRed, Fit(why, width)));
  }
  for (std::string& line : QueueLines(sample, width)) lines.push_back(std::move(line));
  std::vector<std::string> keys = KeyLines(sample, width);
  if (!keys.empty() && lines.size() + 2 < height) {
    lines.emplace_back();
    lines.push_back(Styled(kBold, Fit("FAILURES  KEY, LAST ERROR", width)));
    for (std::string& line : keys) lines.push_back(std::move(line));
  }
  if (lines.size() > height) lines.resize(height);
  return lines;
}

}  // namespace wqctl
