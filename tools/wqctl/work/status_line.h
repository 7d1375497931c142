// StatusLine: stderr, shared by the commands' own messages and one line of progress below them.
//
// Without a terminal there is no progress line, and text passes as it is. Thread-safe.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

namespace wqctl {

class StatusLine {
 public:
  StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  bool enabled() const { return enabled_; }

  // Above the progress line. Errors are ignored: there is nowhere to report them.
  void Write(std::string_view text);
  // Replaces the progress line; "" removes it.
  void Show(std::string_view text);

 private:
  const bool enabled_;
  std::mutex mu_;
  bool shown_ = false;  // Under mu_: the cursor is behind a progress line.
};

}  // namespace wqctl
