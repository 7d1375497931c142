#include "tools/wqctl/work/output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <utility>

#include "tools/wqctl/text/progress.h"
#include "wq/keys.h"

namespace wqctl {
namespace {

constexpr size_t kMaxBytesInMemory = size_t{1} << 20;
constexpr off_t kPageBytes = 4096;
constexpr size_t kPieceBytes = size_t{64} << 10;

// -1 if it cannot be made.
int NamelessFile() {
  const char* const variable = std::getenv("TMPDIR");
  const char* const dir = variable != nullptr && *variable != '\0' ? variable : "/tmp";
  return open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

// `text` with `tag` before each line. *in_line: whether the text before ended within a line.
std::string Tagged(std::string_view text, const std::string& tag, bool* in_line) {
  if (tag.empty()) return std::string(text);
  std::string result;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    if (!*in_line) result.append(tag);
    result.append(text.substr(0, end));
    *in_line = text[end - 1] != '\n';
    text.remove_prefix(end);
  }
  return result;
}

}  // namespace

TextBuffer::~TextBuffer() {
  if (file_ >= 0) close(file_);
}

void TextBuffer::Append(std::string_view text) {
  text_.append(text);
  if (text_.size() < kMaxBytesInMemory) return;
  if (file_ < 0) file_ = NamelessFile();
  if (file_ < 0) return;
  // Without room on the disk the rest stays in memory.
  const ssize_t written = write(file_, text_.data(), text_.size());
  if (written > 0) text_.erase(0, static_cast<size_t>(written));
}

void TextBuffer::Drain(const std::function<void(std::string_view)>& take) {
  if (file_ >= 0) {
    lseek(file_, 0, SEEK_SET);
    std::string piece(kPieceBytes, '\0');
    ssize_t n = 0;
    while ((n = read(file_, piece.data(), piece.size())) > 0) {
      take(std::string_view(piece).substr(0, static_cast<size_t>(n)));
    }
    close(std::exchange(file_, -1));
  }
  if (!text_.empty()) take(text_);
  text_.clear();
}

OutputPrinter::OutputPrinter(const OutputOptions& options)
    : options_(options),
      on_terminal_(isatty(STDOUT_FILENO) == 1),
      cancel_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

OutputPrinter::~OutputPrinter() { close(cancel_fd_); }

int OutputPrinter::error() const {
  const wq::MutexLock lock(mu_);
  return error_;
}

void OutputPrinter::Cancel() const { eventfd_write(cancel_fd_, 1); }

bool OutputPrinter::Print(const std::string& tag, TextBuffer* out, TextBuffer* err) {
  const wq::MutexLock lock(mu_);
  bool out_in_line = false;
  bool err_in_line = false;
  out->Drain([&](std::string_view piece) WQ_REQUIRES(mu_) {
    if (on_terminal_) EraseProgress();
    WriteStdout(Tagged(piece, tag, &out_in_line));
  });
  if (out_in_line) WriteStdout("\n");  // The next key's tag begins a line.
  err->Drain([&](std::string_view piece) { WriteAboveLine(Tagged(piece, tag, &err_in_line)); });
  if (err_in_line) WriteAboveLine("\n");
  return error_ == 0;
}

void OutputPrinter::WriteStdout(std::string_view text) {
  while (error_ == 0 && !text.empty()) {
    std::array<pollfd, 2> fds = {pollfd{cancel_fd_, POLLIN, 0}, pollfd{STDOUT_FILENO, POLLOUT, 0}};
    if (poll(fds.data(), fds.size(), -1) < 0) continue;  // EINTR
    if (fds[0].revents != 0 && fds[1].revents == 0) {    // What fits now is not lost.
      error_ = ECANCELED;
      return;
    }
    // A pipe that poll reports has room for this many bytes: the write does not block.
    const ssize_t n = write(STDOUT_FILENO, text.data(), std::min<size_t>(text.size(), PIPE_BUF));
    if (n >= 0) {
      text.remove_prefix(static_cast<size_t>(n));
    } else if (errno != EINTR && errno != EAGAIN) {
      error_ = errno;
    }
  }
}

JobOutput::JobOutput(OutputPrinter* printer, const std::string& key)
    : printer_(*printer),
      tag_(printer->options().tag ? wq::EscapeKey(key, key.size()) + "\t" : "") {}

void JobOutput::OnStdout(std::string_view text) { out_.Append(text); }

void JobOutput::OnStderr(std::string_view text) {
  if (!printer_.options().group) return WriteAboveLine(text);
  err_.Append(text);
}

bool JobOutput::Finish() { return printer_.Print(tag_, &out_, &err_); }

int StdoutError() {
  pollfd fd{STDOUT_FILENO, 0, 0};
  if (poll(&fd, 1, 0) > 0 && (fd.revents & (POLLERR | POLLHUP)) != 0) return EPIPE;
  if (write(STDOUT_FILENO, "", 0) < 0 && errno == ENOSPC) return ENOSPC;  // A device.
  // A file: whether there is room for a page at its end, which it keeps.
  struct stat file = {};
  const bool full = fstat(STDOUT_FILENO, &file) == 0 && S_ISREG(file.st_mode) &&
                    fallocate(STDOUT_FILENO, FALLOC_FL_KEEP_SIZE, file.st_size, kPageBytes) < 0 &&
                    (errno == ENOSPC || errno == EDQUOT);
  return full ? errno : 0;
}

}  // namespace wqctl
