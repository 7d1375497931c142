// StatusLine: stderr, shared by the commands' messages and one line of progress below them.
//
// Without a terminal, or with --progress=never, there is no progress line, and text passes
// unchanged. Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "base/mutex.h"

namespace wqctl {

class StatusLine {
 public:
  StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  bool enabled() const { return enabled_; }

  // Prints above the progress line. Errors are ignored: they cannot be reported.
  void Write(std::string_view text);
  // Replaces the progress line; "" removes it.
  void Show(std::string_view text);

 private:
  const bool enabled_;
  wq::Mutex mu_;
  bool shown_ WQ_GUARDED_BY(mu_) = false;  // The cursor is behind a progress line.
};

}  // namespace wqctl
