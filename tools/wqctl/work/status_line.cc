#include "tools/wqctl/work/status_line.h"

#include <unistd.h>

#include <cerrno>

#include "tools/wqctl/text/progress.h"

namespace wqctl {
namespace {

constexpr std::string_view kEraseLine = "\r\x1b[K";

void WriteAll(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(STDERR_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<size_t>(n));
  }
}

}  // namespace

StatusLine::StatusLine() : enabled_(ProgressOnScreen()) {}

void StatusLine::Write(std::string_view text) {
  const wq::MutexLock lock(mu_);
  if (shown_) WriteAll(kEraseLine);
  shown_ = false;
  WriteAll(text);
}

void StatusLine::Show(std::string_view text) {
  if (!enabled_) return;
  const wq::MutexLock lock(mu_);
  if (shown_) WriteAll(kEraseLine);
  WriteAll(text);
  shown_ = !text.empty();
}

}  // namespace wqctl
