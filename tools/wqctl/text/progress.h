// ProgressLine: one line on stderr that shows how far a verb is. It replaces itself, and is erased
// at the end.
//
//   ProgressLine progress({.name = "load", .unit = "keys"});
//   for (…) progress.Add();                    // Cheap enough for each key.
//   progress.Begin({.name = "load: finishing"});  // The next step.
//
// On a terminal, after the verb has taken a second, five times a second. See ShowProgress for the
// exceptions. Messages (log.h) erase the line before they are printed; the next count shows it
// again. Lines are shown by the calls that count: a step that counts nothing shows the last one.
// Threading: thread-compatible; one at a time in a process. Lifetime: erases the line at the end. A
// crash: the line stays on the screen.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tools/wqctl/text/progress_meter.h"
#include "tools/wqctl/text/terminal.h"
#include "wq/verify.h"

namespace wqctl {

// --progress, once, at the start. kAuto: if stderr is a terminal that understands escapes, and this
// process is in its foreground. kAlways: from the first count on, and also where stderr is
// something else: there, a line each second, without escapes.
void ShowProgress(When when);
// Whether a line that replaces itself may be shown: as above, but only on a terminal.
bool ProgressOnScreen();

// Erases the line that is on the screen, if any. Before anything else is written there. These three
// are thread-safe.
void EraseProgress();
// Replaces the line by one that its caller keeps up to date. REQUIRES: ProgressOnScreen.
void ShowLine(std::string_view text);
// Writes to stderr in place of the line, which the next ShowLine shows again.
void WriteAboveLine(std::string_view text);
// The same, and no line is shown from now on. Before data are written there.
void EndProgress();

class ProgressLine {
 public:
  explicit ProgressLine(ProgressStep step);
  ~ProgressLine() { EraseProgress(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Begins the next step.
  void Begin(ProgressStep step);
  // For a call of the library: shows its steps as steps of `verb`. Borrows this object.
  wq::ProgressCallback StepsOf(std::string verb);

  // Counts units of the step.
  void Add(uint64_t units = 1) {
    count_.done += units;
    uncounted_ += units;
    if (uncounted_ >= kUnitsPerLook) Look();
  }
  // What has been read of a whole, as ProgressCount says.
  void Read(uint64_t part, uint64_t whole) {
    count_.part = part;
    count_.whole = whole;
    Look();
  }
  // Sets what Add counts.
  void Set(uint64_t done) {
    count_.done = done;
    Look();
  }

 private:
  static constexpr uint64_t kUnitsPerLook = 256;  // Between two looks at the clock.

  void Look();

  const bool enabled_;
  const bool on_screen_;
  ProgressMeter meter_;
  ProgressCount count_;
  uint64_t uncounted_ = 0;  // Since the last look.
};

}  // namespace wqctl
