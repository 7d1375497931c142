#include "tools/wqctl/text/progress.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.h"

namespace wqctl {
namespace {

// By wq::Progress::Unit.
constexpr std::array<std::string_view, 3> kUnitNames = {"bytes", "records", ""};

constexpr std::string_view kEraseLine = "\r\x1b[K";

When wanted = When::kAuto;
wq::Mutex mu;                     // Held during a write.
std::atomic<bool> shown = false;  // The cursor is behind a line.
std::atomic<bool> ended = false;

int64_t NowUs() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

// Errors are ignored: they cannot be reported.
void WriteAll(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(STDERR_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<size_t>(n));
  }
}

// A process in the background would disturb the user's next command, or be stopped.
bool InForeground() {
  const pid_t group = tcgetpgrp(STDERR_FILENO);
  return group < 0 || group == getpgrp();
}

ProgressMeter::Times TimesOf(bool on_screen) {
  ProgressMeter::Times times;
  if (wanted == When::kAlways) times.delay_us = 0;
  if (!on_screen) times.interval_us = 1'000'000;
  return times;
}

}  // namespace

void ShowProgress(When when) { wanted = when; }

bool ProgressOnScreen() { return wanted != When::kNever && IsScreen(STDERR_FILENO); }

void EraseProgress() { WriteAboveLine({}); }

void ShowLine(std::string_view text) {
  const wq::MutexLock lock(mu);
  if (shown.exchange(true)) WriteAll(kEraseLine);
  WriteAll(text);
}

void WriteAboveLine(std::string_view text) {
  const wq::MutexLock lock(mu);
  if (shown.exchange(false)) WriteAll(kEraseLine);
  WriteAll(text);
}

void EndProgress() {
  ended = true;
  EraseProgress();
}

ProgressLine::ProgressLine(ProgressStep step)
    : enabled_(wanted == When::kAlways || ProgressOnScreen()),
      on_screen_(IsScreen(STDERR_FILENO)),
      meter_(NowUs(), TimesOf(on_screen_)) {
  Begin(std::move(step));
}

void ProgressLine::Begin(ProgressStep step) {
  count_ = {};
  uncounted_ = 0;
  if (!enabled_) return;
  meter_.Begin(std::move(step), NowUs());
  Look();
}

wq::ProgressCallback ProgressLine::StepsOf(std::string verb) {
  return
      [this, verb = std::move(verb), step = std::string_view()](const wq::Progress& now) mutable {
        if (now.step != step || now.done == 0) {
          step = now.step;
          const std::string_view unit = kUnitNames[static_cast<size_t>(now.unit)];
          Begin({.name = verb + ": " + std::string(step), .unit = unit, .total = now.total});
        }
        Set(now.done);
      };
}

void ProgressLine::Look() {
  uncounted_ = 0;
  if (!enabled_ || (ended && on_screen_)) return;
  const int64_t now_us = NowUs();
  if (!meter_.IsDue(now_us)) return;
  // The last column stays free: a terminal may begin a new line behind it.
  const size_t columns = on_screen_ ? ColumnsOf(STDERR_FILENO) - 1 : std::string::npos;
  const std::optional<std::string> line = meter_.Line(count_, now_us, columns);
  if (!line) return;
  if (!on_screen_) return WriteAll(*line + "\n");
  if (wanted == When::kAuto && !InForeground()) return;
  shown = true;
  WriteAll(std::string(kEraseLine) + *line);
}

}  // namespace wqctl
