// OutputPrinter: what the commands print, on wqctl's stdout and stderr.
//
//   OutputPrinter printer(options);
//   JobOutput output(&printer, key);       // For each command that is started.
//   output.OnStdout(text);                 // As it arrives.
//   bool printed = output.Finish();        // The command has ended.
//
// OutputPrinter is thread-safe; JobOutput belongs to one thread, and within the printer's lifetime.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/mutex.h"

namespace wqctl {

struct OutputOptions {
  // All that a command printed is printed when it has ended. Otherwise commands have our stdout,
  // and their stderr is copied as it arrives.
  bool group = false;
  bool tag = false;  // Each line begins with the key, escaped, and a tab. REQUIRES: group.
};

// Text in memory; beyond a mebibyte, in a file without a name in $TMPDIR.
class TextBuffer {
 public:
  TextBuffer() = default;
  ~TextBuffer();
  TextBuffer(const TextBuffer&) = delete;
  TextBuffer& operator=(const TextBuffer&) = delete;

  void Append(std::string_view text);
  // Passes on the text in pieces, and becomes empty.
  void Drain(const std::function<void(std::string_view)>& take);

 private:
  std::string text_;  // What follows the file's contents.
  int file_ = -1;     // -1: none.
};

class OutputPrinter {
 public:
  explicit OutputPrinter(const OutputOptions& options);
  ~OutputPrinter();
  OutputPrinter(const OutputPrinter&) = delete;
  OutputPrinter& operator=(const OutputPrinter&) = delete;

  const OutputOptions& options() const { return options_; }

  // The errno of the first write to stdout that failed; 0: none. From then on text is dropped.
  int error() const;
  // Ends a write that waits for the reader, and drops all further text.
  void Cancel() const;

 private:
  friend class JobOutput;

  bool Print(const std::string& tag, TextBuffer* out, TextBuffer* err);
  void WriteStdout(std::string_view text) WQ_REQUIRES(mu_);

  const OutputOptions options_;
  const bool on_terminal_;
  const int cancel_fd_;  // An eventfd that stays readable after Cancel.

  mutable wq::Mutex mu_;
  int error_ WQ_GUARDED_BY(mu_) = 0;
};

class JobOutput {
 public:
  JobOutput(OutputPrinter* printer, const std::string& key);

  void OnStdout(std::string_view text);
  void OnStderr(std::string_view text);
  // Prints the text. False: stdout failed, or Cancel was called.
  bool Finish();

 private:
  OutputPrinter& printer_;
  const std::string tag_;  // Empty: none.
  TextBuffer out_;
  TextBuffer err_;
};

// 0, or why nothing can be written to our stdout: EPIPE for a pipe or socket without a reader, or a
// terminal that was closed; ENOSPC or EDQUOT for a file on a full disk.
int StdoutError();

}  // namespace wqctl
