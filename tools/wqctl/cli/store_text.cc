#include "tools/wqctl/cli/store_text.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "tools/wqctl/text/bytes_text.h"
#include "tools/wqctl/text/duration.h"
#include "tools/wqctl/text/table.h"
#include "wq/keys.h"

namespace wqctl {
namespace {

constexpr size_t kMaxColumns = 160;
constexpr size_t kMaxBar = 40;
constexpr size_t kLabelColumns = 14;  // Of a line of a histogram, with the indentation.
constexpr size_t kCountColumns = 10;
constexpr size_t kLanesShown = 8;

std::string Padded(std::string text, size_t columns) {
  text.resize(std::max(columns, text.size()), ' ');
  return text;
}

std::string RightAligned(const std::string& text, size_t columns) {
  return std::string(columns > text.size() ? columns - text.size() : 0, ' ') + text;
}

// Writes the label, and behind it the text, which goes on in the next line behind a comma if it is
// too long.
void Line(std::string label, std::string_view text, size_t columns, Output* out) {
  const size_t width = columns - std::min(columns, label.size());
  while (text.size() > width) {
    const size_t comma = text.substr(0, width).rfind(',');
    if (comma == text.npos) break;
    out->Write(label.append(text.substr(0, comma + 1)) + "\n");
    label.assign(columns - width, ' ');
    text.remove_prefix(comma + 2);
  }
  out->Write(label.append(text) + "\n");
}

struct Bar {
  std::string label;
  uint64_t count = 0;
};
using Bars = std::vector<Bar>;

// "10ms", "6h".
std::string BoundText(int64_t us) {
  const std::chrono::microseconds bound{us};
  return bound < std::chrono::seconds{1} ? FormatDuration(bound) : FormatAge(bound);
}

// A bar for each bound, labelled `up_to` and the bound, and a bar for values above all bounds.
template <size_t N>
Bars TimeBars(const wq::Histogram<int64_t, N>& histogram, const std::array<int64_t, N>& bounds,
              const std::string& up_to, const std::string& above) {
  Bars bars;
  for (size_t i = 0; i < N; ++i) {
    bars.push_back({bounds[i] == 0 ? "now" : up_to + BoundText(bounds[i]), histogram.counts[i]});
  }
  bars.push_back({above, histogram.counts.back()});
  return bars;
}

Bars FailureBars(const wq::QueueSummary& queue) {
  Bars bars;
  uint64_t from = 1;
  for (size_t i = 0; i < wq::kFailureBounds.size(); ++i) {
    const uint64_t to = wq::kFailureBounds[i];
    bars.push_back({(from == to ? "" : std::to_string(from) + " to ") + std::to_string(to),
                    queue.failure_counts.counts[i]});
    from = to + 1;
  }
  bars.push_back({"more", queue.failure_counts.counts.back()});
  return bars;
}

// Prints the bars from the first to the last that is not 0.
void PrintBars(const std::string& title, const Bars& bars, size_t columns, Output* out) {
  const auto counts = [](const Bar& bar) { return bar.count > 0; };
  const auto first = std::find_if(bars.begin(), bars.end(), counts);
  const auto last = std::find_if(bars.rbegin(), bars.rend(), counts).base();
  if (first == bars.end()) return;
  out->Write("\n  " + title + "\n");
  uint64_t most = 1;
  for (const Bar& bar : bars) most = std::max(most, bar.count);
  const size_t used = 4 + kLabelColumns + kCountColumns + 2;
  const size_t width = std::min(kMaxBar, columns > used + 5 ? columns - used : 5);
  for (auto bar = first; bar != last; ++bar) {
    const uint64_t count = bar->count;
    // A count above 0 is always visible.
    const auto length =
        std::max<size_t>(count > 0 ? 1 : 0, static_cast<size_t>(static_cast<double>(width) *
                                                                static_cast<double>(count) /
                                                                static_cast<double>(most)));
    out->Write("    " + Padded(bar->label, kLabelColumns) +
               RightAligned(std::to_string(count), kCountColumns) +
               (length == 0 ? "" : "  " + std::string(length, '#')) + "\n");
  }
}

// "fast 2, slow 1, 7 3": at most the kLanesShown highest lanes.
std::string LanesText(const wq::QueueSummary& queue) {
  std::string text;
  uint64_t hidden = queue.other_lanes;
  size_t shown = 0;
  for (const auto& [lane, count] : queue.lanes) {
    if (++shown > kLanesShown) {
      hidden += count;
      continue;
    }
    text += (text.empty() ? "" : ", ") + wq::LaneName(lane) + " " + std::to_string(count);
  }
  if (hidden > 0) text += ", others " + std::to_string(hidden);
  return text;
}

std::string PauseText(const wq::QueueSummary& queue, const Show& show) {
  if (!queue.paused) return "no";
  if (!queue.paused_until_us) return "yes, until resume";
  if (*queue.paused_until_us <= show.now_us) {
    return "yes, was to end " + show.Ago(*queue.paused_until_us);
  }
  return "yes, resumes " + show.Until(*queue.paused_until_us);
}

std::string FilesText(const wq::StoreInfo& store) {
  std::string text = "log " + FormatBytes(store.wal_bytes);
  if (store.process_log_bytes > 0) {
    text += ", process log " + FormatBytes(store.process_log_bytes);
  }
  for (const auto& [family, bytes] : store.family_bytes) {
    if (bytes > 0) text.append(", ").append(family).append(" ").append(FormatBytes(bytes));
  }
  return text;
}

std::string CountAnd(uint64_t count, const std::string& more) {
  const std::string text = std::to_string(count);
  return more.empty() ? text : Padded(text, 8) + "  " + more;
}

void PrintFailing(const wq::QueueSummary& queue, const Show& show, size_t columns, Output* out) {
  if (queue.top_failing.empty()) return;
  out->Write("\n  most failures, and the last error\n");
  for (const wq::FailingKey& failing : queue.top_failing) {
    const wq::FailureInfo& failures = failing.failures;
    out->Write("    " + Padded(std::to_string(failures.count) + "x ", 6) + show.Key(failing.key) +
               ", " + show.Ago(failures.last_at_us) + "\n");
    if (failures.last_error.empty()) continue;
    out->Write("          " + Fit(wq::EscapeKey(failures.last_error), columns - 10) + "\n");
  }
}

std::string CountText(const wq::GroupDepths& depths) {
  if (depths.max_error > 0) return "more than " + std::to_string(wq::kMaxSummaryGroups);
  return std::to_string(depths.count);
}

void PrintDepths(const std::string& title, const wq::GroupDepths& depths, size_t columns,
                 Output* out) {
  if (depths.top.empty()) return;
  out->Write("\n");
  Line("  ", title + ", the deepest of " + CountText(depths), columns, out);
  for (const wq::GroupDepth& group : depths.top) {
    // The count may be too low by max_error.
    const std::string error =
        depths.max_error > 0 ? " to " + std::to_string(group.pending + depths.max_error) : "";
    out->Write("    " + Padded(std::to_string(group.pending) + error, kCountColumns) +
               wq::EscapeKey(group.group) + "\n");
  }
}

void PrintNamed(const std::string& title, const std::map<std::string, uint64_t>& sizes,
                const std::string& unit, Output* out) {
  if (sizes.empty()) return;
  out->Write("\n  " + title + "\n");
  for (const auto& [name, size] : sizes) {
    out->Write("    " + wq::EscapeKey(name) + ", " + std::to_string(size) + " " + unit + "\n");
  }
}

void PrintQueue(const wq::QueueSummary& queue, const Show& show, size_t columns, Output* out) {
  const auto line = [columns, out](const std::string& label, const std::string& text) {
    Line("  " + Padded(label, kLabelColumns), text, columns, out);
  };
  out->Write("\nqueue " + wq::EscapeKey(queue.name) + "\n");
  line("pending", CountAnd(queue.pending, LanesText(queue)));
  const auto next = queue.next_ready_at_us;
  line("delayed", CountAnd(queue.delayed, next ? "next " + show.Until(*next) : ""));
  line("failing", std::to_string(queue.failing));
  line("quarantined", std::to_string(queue.quarantined));
  line("paused", PauseText(queue, show));
  if (queue.shards > 0) line("shards", std::to_string(queue.shards));
  const auto oldest = queue.oldest_added_at_us;
  if (oldest) line("oldest", show.Age(*oldest) + " pending");
  PrintBars("pending for", TimeBars(queue.ages, wq::kAgeBoundsUs, "up to ", "longer"), columns,
            out);
  PrintBars("due", TimeBars(queue.due, wq::kDueBoundsUs, "within ", "later"), columns, out);
  PrintBars("delayed by", TimeBars(queue.delays, wq::kDelayBoundsUs, "up to ", "longer"), columns,
            out);
  PrintBars("failures of a key", FailureBars(queue), columns, out);
  PrintFailing(queue, show, columns, out);
  PrintDepths("pending by group", queue.groups, columns, out);
  PrintDepths("pending by namespace", queue.namespaces, columns, out);
  PrintNamed("cursors", queue.cursors, "bytes", out);
  if (queue.other_cursors > 0) {
    out->Write("    and " + std::to_string(queue.other_cursors) + " more\n");
  }
  PrintNamed("sources", queue.sources, "objects", out);
}

void PrintStore(const wq::StoreInfo& store, const std::string& owner, const Show& show,
                size_t columns, Output* out) {
  const auto line = [columns, out](const std::string& label, const std::string& text) {
    Line(Padded(label, 9), text, columns, out);
  };
  out->Write(Padded("store", 9) + wq::EscapeKey(store.dir, 4096) + "\n");
  line("uuid", wq::EscapeKey(store.uuid));
  line("format", std::to_string(store.format_version));
  line("made", show.Ago(store.created_at_us));
  if (store.snapshot_at_us != 0) line("snapshot", "taken " + show.Ago(store.snapshot_at_us));
  line("owner", owner);
  if (store.opened_at_us != 0) line("opened", show.Ago(store.opened_at_us));
  if (store.written_at_us != 0) line("written", show.Ago(store.written_at_us));
  line("files", FilesText(store));
}

}  // namespace

std::string OwnerText(const wq::StoreView& view) {
  const wq::StoreInfo& store = view.info();
  if (store.owner_alive) return view.DescribeOwner() + ", running";
  if (store.owner_pid == 0) return "none yet";
  const std::string pid = "pid " + std::to_string(store.owner_pid);
  if (store.snapshot_at_us != 0) return pid + ", when it was taken";
  if (store.owner_closed) return pid + ", closed it cleanly";
  return pid + ", is gone and did not close it";
}

size_t Columns() {
  size_t columns = 0;
  if (const char* text = std::getenv("COLUMNS")) {
    std::from_chars(text, text + std::strlen(text), columns);
  }
  return std::clamp<size_t>(columns == 0 ? ColumnsOf(STDOUT_FILENO) : columns, 40, kMaxColumns);
}

void PrintStoreText(const wq::StoreInfo& store, const std::string& owner,
                    const std::vector<wq::QueueSummary>& queues, const Show& show, size_t columns,
                    Output* out) {
  PrintStore(store, owner, show, columns, out);
  for (const wq::QueueSummary& queue : queues) PrintQueue(queue, show, columns, out);
}

void PrintStoreTable(const wq::StoreInfo& store, const std::string& owner,
                     const std::vector<wq::QueueSummary>& queues, const Show& show, bool wide,
                     Output* out) {
  Table stores({"STORE", "UUID", "FORMAT", "OWNER"}, out);
  stores.Add({wq::EscapeKey(store.dir, 4096), wq::EscapeKey(store.uuid),
              std::to_string(store.format_version), owner});
  stores.Finish();
  out->Write("\n");
  std::vector<std::string> header = {"QUEUE",   "PENDING",     "LANES",     "DELAYED",
                                     "FAILING", "QUARANTINED", "PAUSED",    "GROUPS",
                                     "SHARDS",  "OLDEST",      "NEXT READY"};
  if (wide) {
    header.emplace_back("DUE NOW");
    for (size_t i = 1; i < wq::kDueBoundsUs.size(); ++i) {
      header.push_back("IN " + BoundText(wq::kDueBoundsUs[i]));
    }
    header.emplace_back("NAMESPACES");
  }
  Table table(std::move(header), out);
  for (const wq::QueueSummary& queue : queues) {
    const std::string lanes = LanesText(queue);
    std::vector<std::string> row = {
        wq::EscapeKey(queue.name),
        std::to_string(queue.pending),
        lanes.empty() ? "-" : lanes,
        std::to_string(queue.delayed),
        std::to_string(queue.failing),
        std::to_string(queue.quarantined),
        PauseText(queue, show),
        CountText(queue.groups),
        queue.shards == 0 ? "-" : std::to_string(queue.shards),
        queue.oldest_added_at_us ? show.Age(*queue.oldest_added_at_us) : "-",
        queue.next_ready_at_us ? show.Until(*queue.next_ready_at_us) : "-"};
    if (wide) {
      for (size_t i = 0; i < wq::kDueBoundsUs.size(); ++i) {
        row.push_back(std::to_string(queue.due.counts[i]));
      }
      row.push_back(CountText(queue.namespaces));
    }
    table.Add(std::move(row));
  }
  table.Finish();
}

}  // namespace wqctl
