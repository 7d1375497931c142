#include "tools/wqctl/verbs/key_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/mutant.h"
#include "tools/wqctl/cli/cli.h"
#include "tools/wqctl/signals/stop_signals.h"

namespace wqctl {
namespace {

constexpr size_t kReadBytes = size_t{64} << 10;

uint64_t BytesInFile(int fd) {
  struct stat info = {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return 0;
  const off_t at = lseek(fd, 0, SEEK_CUR);
  return at < 0 || at >= info.st_size ? 0 : static_cast<uint64_t>(info.st_size - at);
}

}  // namespace

KeyReader::KeyReader(int fd, char delimiter, size_t max_bytes)
    : fd_(fd),
      delimiter_(delimiter),
      max_bytes_(max_bytes),
      buffer_(kReadBytes),
      bytes_in_file_(BytesInFile(fd)) {
  // The lines point into text_, so it must not be reallocated: before a read it holds at most one
  // incomplete line, and a read adds at most kReadBytes.
  text_.reserve(max_bytes_ + kReadBytes);
}

bool KeyReader::ReadMore() {
  lines_.clear();
  text_.erase(0, line_begin_);
  line_begin_ = 0;
  if (at_end_) return false;

  ssize_t n = 0;
  while ((n = read(fd_, buffer_.data(), buffer_.size())) < 0 &&
         (errno == EINTR || errno == EAGAIN) && !Interrupted()) {
    pollfd ready = {fd_, POLLIN, 0};  // Another process may have made its file not block.
    poll(&ready, 1, -1);
  }
  if (n < 0) {
    error_ = errno;
    return false;
  }
  if (n == 0) {
    at_end_ = true;
    if (line_bytes_ > 0 && !WQ_MUTANT(last_line_is_dropped)) EndLine();
    return !lines_.empty();
  }
  bytes_read_ += static_cast<uint64_t>(n);
  std::string_view rest(buffer_.data(), static_cast<size_t>(n));
  for (size_t end = rest.find(delimiter_); end != std::string_view::npos;
       end = rest.find(delimiter_)) {
    Append(rest.substr(0, end));
    EndLine();
    rest.remove_prefix(end + 1);
  }
  Append(rest);
  return true;
}

void KeyReader::Append(std::string_view part) {
  const size_t kept = text_.size() - line_begin_;
  text_.append(part.substr(0, max_bytes_ - kept));
  line_bytes_ = WQ_MUTANT(long_key_is_cut) ? text_.size() - line_begin_ : line_bytes_ + part.size();
}

void KeyReader::EndLine() {
  lines_.push_back({++lines_read_, std::string_view(text_).substr(line_begin_), line_bytes_});
  line_begin_ = text_.size();
  line_bytes_ = 0;
}

void RequireStdin() {
  const int flags = fcntl(STDIN_FILENO, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_WRONLY) Usage("standard input is closed");
}

}  // namespace wqctl
