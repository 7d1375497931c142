// wqctl watch: the queues as they change, in place on a terminal, or as JSON lines.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/signals/stop_signals.h"
#include "tools/wqctl/text/duration.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/json_fields.h"
#include "tools/wqctl/text/listing.h"
#include "tools/wqctl/text/number.h"
#include "tools/wqctl/text/output.h"
#include "tools/wqctl/text/table.h"
#include "tools/wqctl/text/terminal.h"
#include "tools/wqctl/watch/watch_sample.h"
#include "wq/keys.h"

namespace wqctl {
namespace {

constexpr auto kLeastInterval = std::chrono::milliseconds{100};
constexpr size_t kWidthOfPipe = 80;

struct WatchArgs {
  std::string store_dir;
  std::optional<std::string> queue;
  std::chrono::microseconds interval = std::chrono::seconds{1};
  std::optional<uint64_t> count;  // Unset: until a signal.
  std::optional<Format> format;   // Unset: a table on a terminal, else jsonl.
  size_t keys = 5;
};

constexpr size_t kDepthsKept = 120;
constexpr size_t kColumnGap = 2;
constexpr size_t kLeastSparkline = 8;
constexpr size_t kNameWidth = 24;

// The last `width` values, one character each, scaled to the largest of them.
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

// "12.3", "4567", "+0.5"; "-" if unknown.
std::string RateText(const std::optional<double>& rate, bool sign) {
  if (!rate) return "-";
  std::array<char, 32> text;
  const bool whole = std::fabs(*rate) >= 100 || *rate == 0;
  std::snprintf(text.data(), text.size(), sign && *rate != 0 ? "%+.*f" : "%.*f", whole ? 0 : 1,
                *rate);
  return text.data();
}

using Cells = std::vector<std::string>;

// The header, and a row for each queue. What matters most is in front: a narrow screen has only the
// first columns.
std::vector<Cells> RowsOf(const Sample& sample) {
  std::vector<Cells> rows = {{"QUEUE", "PENDING", "FAILING", "DELAYED"}};
  const Cells rates = sample.live ? Cells{"ADD/s", "DONE/s", "FAIL/s"} : Cells{"CHANGE/s"};
  rows[0].insert(rows[0].end(), rates.begin(), rates.end());
  rows[0].insert(rows[0].end(), {"WORKING", "QUARANTINED"});
  for (const QueueSample& queue : sample.queues) {
    Cells& row =
        rows.emplace_back(Cells{Fit(queue.name, kNameWidth), std::to_string(queue.pending),
                                std::to_string(queue.failing), std::to_string(queue.delayed)});
    if (sample.live) {
      for (const auto& rate : {queue.added, queue.done, queue.failed}) {
        row.push_back(RateText(rate, false));
      }
    } else {
      row.push_back(RateText(queue.pending_change, true));
    }
    row.push_back(queue.processing ? std::to_string(*queue.processing) : "-");
    row.push_back(std::to_string(queue.quarantined));
  }
  return rows;
}

// The rows as lines of equal width, with the columns that fit `width`, and one at least.
std::vector<std::string> Aligned(const std::vector<Cells>& rows, size_t width) {
  std::vector<std::string> lines(rows.size());
  size_t used = 0;
  for (size_t i = 0; i < rows[0].size(); ++i) {
    size_t column = 0;
    for (const Cells& row : rows) column = std::max(column, WidthOf(row[i]));
    if (i > 0 && used + column > width) break;
    used += column + kColumnGap;
    for (size_t row = 0; row < rows.size(); ++row) {
      const std::string padding(column - WidthOf(rows[row][i]), ' ');
      lines[row] += i == 0 ? rows[row][i] + padding : padding + rows[row][i];
      lines[row].append(kColumnGap, ' ');
    }
  }
  return lines;
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

// Prints samples as screens for people: a table of the queues with their recent depths as
// sparklines, and the keys that fail most. On a terminal each screen replaces the one before, and
// has at most its lines and columns: the last columns are left out, and keys, and then queues.
// Otherwise it follows.
class Screen {
 public:
  Screen(bool terminal, Output* out)
      : terminal_(terminal), colour_(WantsColour(STDOUT_FILENO)), out_(*out) {}

  bool Show(const Sample& sample) {
    size_t width = kWidthOfPipe;
    size_t height = SIZE_MAX;
    winsize size = {};
    if (terminal_ && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
      width = size.ws_col;
      height = std::max<size_t>(size.ws_row, 2) - 1;  // The cursor is in the last line.
    }
    const std::vector<std::string> lines = Render(sample, width, height);
    std::string text = Begin(width, height);
    for (const std::string& line : lines) text.append(line).append("\n");
    shown_ = lines.size();
    return out_.Write(text) && out_.Flush();
  }

 private:
  // Moves to the first line that was shown, and clears everything below. After a change of size
  // that line may be anywhere: then the whole screen is cleared.
  std::string Begin(size_t width, size_t height) {
    const bool resized = width != width_ || height != height_;
    width_ = width;
    height_ = height;
    if (!terminal_) return shown_ == 0 ? "" : "\n";
    if (shown_ == 0) return "";
    return resized ? "\x1b[H\x1b[2J" : "\x1b[" + std::to_string(shown_) + "F\x1b[J";
  }

  std::vector<std::string> Render(const Sample& sample, size_t width, size_t height);
  void Remember(const Sample& sample);
  std::vector<std::string> QueueLines(const Sample& sample, size_t width) const;
  std::string Styled(std::string_view style, const std::string& line) const;

  const bool terminal_;
  const bool colour_;
  Output& out_;
  // By queue: the pending counts, the latest last.
  std::map<std::string, std::deque<uint64_t>> depths_;
  size_t shown_ = 0;  // Lines.
  size_t width_ = 0;
  size_t height_ = 0;
};

void Screen::Remember(const Sample& sample) {
  for (const QueueSample& queue : sample.queues) {
    std::deque<uint64_t>& depths = depths_[queue.name];
    depths.push_back(queue.pending);
    if (depths.size() > kDepthsKept) depths.pop_front();
  }
}

std::string Screen::Styled(std::string_view style, const std::string& line) const {
  return colour_ ? std::string(style).append(line).append(kPlain) : line;
}

std::vector<std::string> Screen::QueueLines(const Sample& sample, size_t width) const {
  std::vector<std::string> rows = Aligned(RowsOf(sample), width);
  const size_t used = WidthOf(rows[0]);
  const size_t room = used + kLeastSparkline <= width ? std::min(width - used, kDepthsKept) : 0;
  if (room > 0) rows[0] += "DEPTH";
  for (size_t i = 0; i < sample.queues.size(); ++i) {
    rows[i + 1] += Sparkline(depths_.at(sample.queues[i].name), room);
  }
  std::vector<std::string> lines;
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool paused = i > 0 && sample.queues[i - 1].paused;
    rows[i].erase(rows[i].find_last_not_of(' ') + 1);
    const std::string line = Fit(rows[i], width);
    lines.push_back(i == 0 ? Styled(kBold, line) : paused ? Styled(kYellow, line) : line);
    if (paused) lines.push_back(Fit("  paused", width));
  }
  return lines;
}

std::vector<std::string> Screen::Render(const Sample& sample, size_t width, size_t height) {
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

// One queue of a sample on one line, without a line end, appended to `out`.
void AppendSampleJson(const Sample& sample, const QueueSample& queue, std::string* out) {
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(); };
  Json json;
  json["time"] = FormatTime(sample.wall_us);
  json["live"] = sample.live;
  json["owner_pid"] = sample.owner_pid == 0 ? Json() : Json(sample.owner_pid);
  json["healthy"] = sample.live ? Json(sample.health.ok()) : Json();
  json["queue"] = queue.name;
  json["pending"] = queue.pending;
  json["processing"] = or_null(queue.processing);
  json["delayed"] = queue.delayed;
  json["failing"] = queue.failing;
  json["quarantined"] = queue.quarantined;
  json["paused"] = queue.paused;
  json["pending_change_per_second"] = or_null(queue.pending_change);
  json["added_per_second"] = or_null(queue.added);
  json["done_per_second"] = or_null(queue.done);
  json["failed_per_second"] = or_null(queue.failed);
  Json& top = json["top_failing"] = Json::array();
  for (const wq::FailingKey& failing : queue.top_failing) top.push_back(FailingKeyJson(failing));
  *out += JsonText(json);
}

// Each sample is a document of its own.
bool ShowListing(Format format, const Sample& sample, Output* out) {
  Listing listing(format, {}, out);
  for (const QueueSample& queue : sample.queues) {
    listing.Row([&](std::string* json) { AppendSampleJson(sample, queue, json); },
                [] { return std::vector<std::string>{}; },
                [&] { return wq::EscapeKey(queue.name) + "\n"; });
  }
  listing.End(true);
  return out->Flush();
}

int Run(const WatchArgs& args) {
  const StopSignals signals;
  const bool terminal = isatty(STDOUT_FILENO) == 1;
  const Format format = args.format.value_or(terminal ? Format::kTable : Format::kJsonl);
  Sampler sampler(args.store_dir, args.queue, args.keys);
  Output out;
  Screen screen(terminal, &out);
  for (uint64_t taken = 0; !args.count || taken < *args.count; ++taken) {
    if (taken > 0 && !signals.WaitFor(args.interval)) break;
    const StopGuard guard(signals, StopGuard::During::kShowing);
    Sample sample;
    if (wq::Status s = sampler.Take(&sample); !s.ok()) return out.Finish(Fail(s));
    if (!(IsTable(format) ? screen.Show(sample) : ShowListing(format, sample, &out))) break;
  }
  return out.Finish(kExitOk);
}

constexpr const char* kWatchExamples =
    R"(On a terminal the screen is updated in place; otherwise each sample is one JSON object a line
for each queue. While the store's owner serves its control socket (wqctl serve and work do)
the numbers are the owner's, with rates. Otherwise they are those on disk. Ends at Ctrl-C,
with exit code 0.

Examples:
  wqctl watch
  wqctl watch -q pods --interval 5s
  wqctl watch -q pods --keys 20
  wqctl watch -q pods --count 60 -o jsonl | jq .pending)";

}  // namespace

Command ParseWatch(const Input& input) {
  WatchArgs args;
  VerbParser parser(input, {"Shows the queues as they change.", "", kWatchExamples},
                    &args.store_dir);
  AddOnlyQueue(&parser, &args.queue);
  AddDuration(&parser, "--interval", "The time between two samples; default 1s", &args.interval);
  AddParsed(&parser, "--count", "N", "End after N samples", "a number above 0",
            ParseNumber<uint64_t, 1>, &args.count);
  AddParsed(&parser, "--keys", "N",
            "Show the N keys of each queue that failed most; default " + std::to_string(args.keys),
            "a number above 0", ParseNumber<size_t, 1>, &args.keys);
  AddFormat(&parser, kListingFormats, &args.format, "Output format; default: table on a terminal");
  parser.ParseWithoutArguments();
  if (args.interval < kLeastInterval) Usage("--interval must be 100ms or more");
  return args;
}

}  // namespace wqctl
