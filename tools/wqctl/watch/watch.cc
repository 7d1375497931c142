// wqctl watch, top: the queues as they change, in place on a terminal, or as JSON lines.
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/signals/stop_signals.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/listing.h"
#include "tools/wqctl/text/number.h"
#include "tools/wqctl/text/output.h"
#include "tools/wqctl/text/terminal.h"
#include "tools/wqctl/watch/watch_sample.h"
#include "tools/wqctl/watch/watch_screen.h"
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

// Prints screens: on a terminal each replaces the one before, otherwise it follows.
class Screen {
 public:
  Screen(bool terminal, Output* out)
      : terminal_(terminal), screen_(WantsColour(STDOUT_FILENO)), out_(*out) {}

  bool Show(const Sample& sample) {
    size_t width = kWidthOfPipe;
    size_t height = SIZE_MAX;
    winsize size = {};
    if (terminal_ && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
      width = size.ws_col;
      height = std::max<size_t>(size.ws_row, 2) - 1;  // The cursor is in the last line.
    }
    const std::vector<std::string> lines = screen_.Render(sample, width, height);
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

  const bool terminal_;
  WatchScreen screen_;
  Output& out_;
  size_t shown_ = 0;  // Lines.
  size_t width_ = 0;
  size_t height_ = 0;
};

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

// False: a signal arrived.
bool Wait(const StopSignals& signals, std::chrono::microseconds interval) {
  pollfd fd = {signals.fd(), POLLIN, 0};
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(interval);
  poll(&fd, 1, static_cast<int>(std::min<int64_t>(ms.count(), INT32_MAX)));
  return signals.Take() == 0;
}

int Run(const WatchArgs& args) {
  const StopSignals signals;
  const bool terminal = isatty(STDOUT_FILENO) == 1;
  const Format format = args.format.value_or(terminal ? Format::kTable : Format::kJsonl);
  Sampler sampler(args.store_dir, args.queue, args.keys);
  Output out;
  Screen screen(terminal, &out);
  for (uint64_t taken = 0; !args.count || taken < *args.count; ++taken) {
    if (taken > 0 && !Wait(signals, args.interval)) break;
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
