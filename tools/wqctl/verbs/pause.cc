// wqctl pause, resume: whether a queue hands out keys.
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/text/duration.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/output.h"
#include "tools/wqctl/verbs/confirm.h"
#include "tools/wqctl/verbs/reach.h"
#include "wq/keys.h"
#include "wq/store_view.h"

namespace wqctl {
namespace {

constexpr const char* kPauseExamples =
    R"(Keys can be added during the pause. The pause survives restarts.

Examples:
  wqctl pause -q pods
  wqctl pause -q pods --for 2h --yes)";

constexpr const char* kResumeExamples = R"(Examples:
  wqctl resume -q pods
  wqctl resume -q pods --yes)";

struct PauseArgs : ChangeArgs {
  bool resume = false;
  std::optional<std::chrono::microseconds> duration;  // Unset: until resume.
};

// "queue "q" for 2h".
std::string TextOf(const PauseArgs& args) {
  return "queue \"" + wq::EscapeKey(args.queue) + "\"" +
         (args.duration ? " for " + FormatDuration(*args.duration) : "");
}

// Prints "paused queue "q"", or that there was no pause to end.
int Print(const PauseArgs& args, bool was_paused, const std::string& pause,
          const std::string& resume) {
  Output out;
  if (args.resume && !was_paused) {
    out.Write(TextOf(args) + " is not paused\n");
  } else {
    out.Write((args.resume ? resume : pause) + " " + TextOf(args) + "\n");
  }
  return out.Finish(kExitOk);
}

int DryRun(const PauseArgs& args) {
  const InterruptScope interrupts;
  std::unique_ptr<wq::StoreView> view;
  wq::QueueSummary queue;
  if (wq::Status s = ViewQueue(args, &view); !s.ok()) return Fail(s);
  if (args.resume) {
    if (wq::Status s = view->Summarize(args.queue, {}, &queue); !s.ok()) return Fail(s);
  }
  return Print(args, queue.paused, "would pause", "would resume");
}

int Run(const PauseArgs& args) {
  if (args.dry_run) return DryRun(args);
  const std::optional<int> end = Confirm(args, [&](const wq::StoreView&, std::string* text) {
    *text = (args.resume ? "Resume " : "Pause ") + TextOf(args) + "?";
    return wq::Status::Ok();
  });
  if (end) return *end;
  ReachedQueue reached;
  bool paused = false;
  wq::Status s = ReachQueue(args.store_dir, args.queue, {}, &reached);
  if (s.ok() && args.resume) s = reached.access->Resume(&paused);
  if (s.ok() && !args.resume) s = reached.access->Pause(args.duration);
  if (s.ok()) s = reached.Close();
  return s.ok() ? Print(args, paused, "paused", "resumed") : Fail(s);
}

}  // namespace

Command ParsePause(const Input& input) {
  PauseArgs args;
  VerbParser parser(
      input, {"Lets a queue hand out nothing.", "", std::string(kPauseExamples) + kAboutAsking},
      &args.store_dir);
  AddChangeOptions(&parser, &args);
  AddDuration(&parser, "--for", "End the pause after this time; default: until resume",
              &args.duration);
  parser.ParseWithoutArguments();
  if (args.duration && args.duration->count() == 0) Usage("--for must be more than 0");
  return args;
}

Command ParseResume(const Input& input) {
  PauseArgs args;
  args.resume = true;
  VerbParser parser(input,
                    {"Ends the pause of a queue.", "", std::string(kResumeExamples) + kAboutAsking},
                    &args.store_dir);
  AddChangeOptions(&parser, &args);
  parser.ParseWithoutArguments();
  return args;
}

}  // namespace wqctl
