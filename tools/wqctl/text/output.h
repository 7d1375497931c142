// Output: data on stdout, buffered. Reports whether it was written.
//
//   Output out;
//   out.Write(row);                  // false: the output has ended, stop producing
//   return out.Finish(kExitOk);      // the exit code, or a failure if the data was not written
//
// If the reader closes the pipe (`wqctl dump | head -1`), the output ends without a message and
// without an error. A full disk is an error. Thread-compatible.
#pragma once

#include <string>
#include <string_view>

#include "tools/wqctl/signals/stop_signals.h"  // IWYU pragma: export
#include "tools/wqctl/text/terminal.h"         // IWYU pragma: export

namespace wqctl {

class Output {
 public:
  Output() = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Returns false once the output has ended, for any reason.
  bool Write(std::string_view text);
  bool Flush();

  // Writes the rest of the buffer. Returns `exit_code`, or kExitFailure if that was kExitOk and
  // writing failed.
  int Finish(int exit_code);

 private:
  enum class State { kOpen, kClosedByReader, kInterrupted, kFailed };

  State state_ = State::kOpen;
  int error_ = 0;  // errno, when state_ is kFailed.
  std::string buffer_;
};

// Prints a line, and returns the exit code.
int PrintLine(const std::string& line);

// Whether stdout cannot be written at all: it was closed when this process was started.
bool StdoutIsClosed();

}  // namespace wqctl
