// Output: data on stdout, buffered, with an eye on what became of it.
//
//   Output out;
//   out.Write(row);                  // false: stop producing, nobody takes it any more
//   return out.Finish(kExitOk);      // the exit code, or a failure if the data did not get out
//
// A reader that went away (`wqctl dump | head -1`) ends the output without a word and without an
// error: that is what it wanted. A full disk is an error. Thread-compatible.
#pragma once

#include <string>
#include <string_view>

namespace wqctl {

class Output {
 public:
  Output() = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // False once the output has ended, for whatever reason.
  bool Write(std::string_view text);
  bool Flush();

  // Writes what is left. Returns `exit_code`, or kExitFailure if that was kExitOk and writing
  // failed.
  int Finish(int exit_code);

 private:
  enum class State { kOpen, kClosedByReader, kInterrupted, kFailed };

  State state_ = State::kOpen;
  int error_ = 0;  // errno, when state_ is kFailed.
  std::string buffer_;
};

// Whether a person sees what goes to stdout: it is a terminal, or was one before a pager came in between.
// Settled by the first call.
bool OnTerminal();

// While one of these lives, SIGINT, SIGTERM and SIGHUP only set a flag, so that a reader of a store
// gets to remove its scratch files. Afterwards the signal takes its usual effect.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();  // Does not return if a signal came.
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
};
bool Interrupted();

}  // namespace wqctl
