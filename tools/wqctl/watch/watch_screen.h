// WatchScreen: samples as a screen for people: a table of the queues with their recent depths as
// sparklines, and the keys that fail most.
//
//   WatchScreen screen(wants_colour);
//   for (const std::string& line : screen.Render(sample, width, height)) …
//
// At most `height` lines of at most `width` columns: columns of lesser weight are left out, then
// keys, then queues. Thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/wqctl/watch/watch_sample.h"

namespace wqctl {

class WatchScreen {
 public:
  explicit WatchScreen(bool colour) : colour_(colour) {}

  std::vector<std::string> Render(const Sample& sample, size_t width, size_t height);

 private:
  void Remember(const Sample& sample);
  std::vector<std::string> QueueLines(const Sample& sample, size_t width) const;
  std::string Styled(std::string_view style, const std::string& line) const;

  const bool colour_;
  std::map<std::string, std::deque<uint64_t>>
      depths_;  // By queue: the pending counts, the latest last.
};

// The last `width` values, one character each, scaled to the largest of them.
std::string Sparkline(const std::deque<uint64_t>& values, size_t width);

// At most `width` columns of `text`; "…" replaces the rest. REQUIRES: escaped text.
std::string Fit(std::string_view text, size_t width);

}  // namespace wqctl
