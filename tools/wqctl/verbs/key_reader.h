// KeyReader: reads keys from a file descriptor, one a line (or NUL-separated), in bounded memory.
//
//   KeyReader reader(STDIN_FILENO, '\n', 4096);
//   while (reader.ReadMore()) {
//     for (const KeyReader::Line& line : reader.lines()) …
//   }
//   if (reader.error() != 0) …
//
// Each read returns the lines that it completes, so that keys of a slow producer are not held back
// until a batch is full. A line longer than the limit is cut while it is read. A missing delimiter
// at the end is fine. Thread-compatible.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wqctl {

class KeyReader {
 public:
  struct Line {
    uint64_t number = 0;    // From 1.
    std::string_view text;  // Without the delimiter; the first max_bytes of a longer one.
    uint64_t bytes = 0;     // The full length of the line.
  };

  KeyReader(int fd, char delimiter, size_t max_bytes);

  // Reads once, and replaces lines() by the lines that this completed, perhaps none. False: the
  // end, or an error. Blocks.
  bool ReadMore();

  // Valid until the next ReadMore.
  const std::vector<Line>& lines() const { return lines_; }

  int error() const { return error_; }  // errno of the read that failed, else 0.

  uint64_t bytes_read() const { return bytes_read_; }
  // How many bytes there were to read at the beginning; 0: unknown, because it is no file.
  uint64_t bytes_in_file() const { return bytes_in_file_; }

 private:
  void EndLine();
  void Append(std::string_view part);

  const int fd_;
  const char delimiter_;
  const size_t max_bytes_;
  std::vector<char> buffer_;
  std::string text_;         // The texts of lines_, and of the incomplete line.
  size_t line_begin_ = 0;    // In text_, of the incomplete line.
  uint64_t line_bytes_ = 0;  // Of the incomplete line, the part beyond max_bytes_ included.
  uint64_t lines_read_ = 0;
  uint64_t bytes_read_ = 0;
  const uint64_t bytes_in_file_;
  std::vector<Line> lines_;
  bool at_end_ = false;
  int error_ = 0;
};

// For a verb that reads stdin, while its command line is read. Throws UsageError: stdin was closed
// when this process was started.
void RequireStdin();

}  // namespace wqctl
