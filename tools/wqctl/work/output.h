// OutputPrinter: what the commands print, on wqctl's stdout and stderr, in the order that the user
// chose.
//
//   OutputPrinter printer(options, &status_line);
//   JobOutput output(&printer, job);       // For each command that is started.
//   output.OnStdout(text);                 // As it arrives.
//   bool printed = output.Finish();        // The command has ended.
//
// With keep_order the text waits until every job with a smaller sequence number has finished: so
// each sequence number that was given out must reach Finish or Skip.
// OutputPrinter is thread-safe; JobOutput belongs to one thread, and within the printer's lifetime.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "tools/wqctl/work/job.h"
#include "tools/wqctl/work/status_line.h"

namespace wqctl {

enum class OutputMode : uint8_t {
  kUngroup,     // Commands have our stdout; their stderr is copied as it arrives.
  kLineBuffer,  // Whole lines, as they are complete.
  kGroup,       // All that a command printed, when it has ended.
};

struct OutputOptions {
  OutputMode mode = OutputMode::kUngroup;
  bool tag = false;         // Each line begins with the key, escaped, and a tab. Not kUngroup.
  bool keep_order = false;  // In the order of the jobs' sequence numbers. Not kUngroup.
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
  // Passes on the complete lines as one piece. Text that is in a file stays.
  void DrainLines(const std::function<void(std::string_view)>& take);

 private:
  std::string text_;  // What follows the file's contents.
  int file_ = -1;     // -1: none.
};

// The unprinted text of one job.
struct JobText {
  std::string tag;  // Empty: none.
  TextBuffer out;
  TextBuffer err;
  bool out_in_line = false;  // The printed text does not end at the end of a line.
  bool err_in_line = false;
};

class OutputPrinter {
 public:
  OutputPrinter(const OutputOptions& options, StatusLine* status_line);
  ~OutputPrinter();
  OutputPrinter(const OutputPrinter&) = delete;
  OutputPrinter& operator=(const OutputPrinter&) = delete;

  const OutputOptions& options() const { return options_; }

  // The errno of the first write to stdout that failed; 0: none. From then on text is dropped.
  int error() const;
  // Ends a write that waits for the reader, and drops all further text.
  void Cancel() const;

  // The job prints nothing.
  void Skip(uint64_t sequence);

 private:
  friend class JobOutput;

  void PrintLines(uint64_t sequence, JobText* text);
  bool Finish(uint64_t sequence, std::unique_ptr<JobText> text);
  void PrintAll(JobText* text) WQ_REQUIRES(mu_);
  void PrintOut(std::string_view text, JobText* job) WQ_REQUIRES(mu_);
  void PrintErr(std::string_view text, JobText* job) WQ_REQUIRES(mu_);
  void WriteStdout(std::string_view text) WQ_REQUIRES(mu_);
  bool HasTurn(uint64_t sequence) const WQ_REQUIRES(mu_);

  const OutputOptions options_;
  StatusLine& status_line_;
  const bool on_terminal_;
  const int cancel_fd_;  // An eventfd that stays readable after Cancel.

  mutable wq::Mutex mu_;
  int error_ WQ_GUARDED_BY(mu_) = 0;
  uint64_t next_ WQ_GUARDED_BY(mu_) = 1;  // With keep_order: the job that may print.
  std::map<uint64_t, std::unique_ptr<JobText>> waiting_ WQ_GUARDED_BY(mu_);  // Null: skipped.
};

class JobOutput {
 public:
  JobOutput(OutputPrinter* printer, const Job& job);

  void OnStdout(std::string_view text);
  void OnStderr(std::string_view text);
  // Prints what is left. False: stdout failed, or Cancel was called.
  bool Finish();

  uint64_t stdout_bytes() const { return stdout_bytes_; }

 private:
  OutputPrinter& printer_;
  const uint64_t sequence_;
  std::unique_ptr<JobText> text_;
  uint64_t stdout_bytes_ = 0;
};

// Our stdout is a pipe or socket without a reader, or a terminal that was closed.
bool StdoutIsGone();

}  // namespace wqctl
