#include "tools/wqctl/text/output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "base/mutant.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/log.h"
#include "tools/wqctl/text/progress.h"

namespace wqctl {
namespace {

constexpr size_t kBufferBytes = size_t{64} << 10;

}  // namespace

bool Output::Write(std::string_view text) {
  if (state_ != State::kOpen) return false;
  buffer_.append(text);
  return buffer_.size() < kBufferBytes || Flush();
}

bool Output::Flush() {
  size_t done = 0;
  if (!buffer_.empty() && OnTerminal()) EndProgress();
  while (state_ == State::kOpen && done < buffer_.size()) {
    // Checked before each write: a write that a signal cut short returns a count, not EINTR.
    if (Interrupted()) {
      state_ = State::kInterrupted;
      break;
    }
    const ssize_t n = write(STDOUT_FILENO, buffer_.data() + done, buffer_.size() - done);
    if (n >= 0) {
      done += static_cast<size_t>(n);
    } else if (errno == EPIPE && !WQ_MUTANT(closed_reader_is_failure)) {
      state_ = State::kClosedByReader;
    } else if (errno == EAGAIN) {  // Another process may have made its file not block.
      pollfd ready = {STDOUT_FILENO, POLLOUT, 0};
      poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      state_ = State::kFailed;
      error_ = errno;
    }
  }
  buffer_.clear();
  return state_ == State::kOpen;
}

int Output::Finish(int exit_code) {
  Flush();
  if (state_ != State::kFailed) return exit_code;
  LogError("cannot write to standard output: " + ErrnoText(error_));
  return exit_code == kExitOk ? kExitFailure : exit_code;
}

int PrintLine(const std::string& line) {
  Output out;
  out.Write(line + "\n");
  return out.Finish(kExitOk);
}

bool StdoutIsClosed() {
  const int flags = fcntl(STDOUT_FILENO, F_GETFL);
  return flags < 0 || (flags & O_ACCMODE) == O_RDONLY;
}

}  // namespace wqctl
