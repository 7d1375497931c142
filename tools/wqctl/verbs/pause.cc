// wqctl pause, resume: whether a queue hands out keys.
#include <memory>
#include <optional>
#include <string>

#include "tools/wqctl/text/duration.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/output.h"
#include "tools/wqctl/verbs/confirm.h"
#include "tools/wqctl/verbs/reach.h"
#include "tools/wqctl/verbs/verbs.h"
#include "wq/clock.h"
#include "wq/keys.h"
#include "wq/store_view.h"

namespace wqctl {
namespace {

std::string QueueText(const ChangeArgs& args) {
  return "queue \"" + wq::EscapeKey(args.queue) + "\"";
}

// "queue "q" for 2h".
std::string PauseText(const PauseArgs& args) {
  return QueueText(args) + (args.duration ? " for " + FormatDuration(*args.duration) : "");
}

int Say(const std::string& text) {
  Output out;
  out.Write(text + "\n");
  return out.Finish(kExitOk);
}

int DryRun(const PauseArgs& args) {
  const InterruptScope interrupts;
  std::unique_ptr<wq::StoreView> view;
  if (wq::Status s = ViewQueue(args, &view); !s.ok()) return Fail(s);
  return Say("would pause " + PauseText(args));
}

int DryRun(const ResumeArgs& args) {
  const InterruptScope interrupts;
  std::unique_ptr<wq::StoreView> view;
  wq::QueueSummary queue;
  if (wq::Status s = ViewQueue(args, &view); !s.ok()) return Fail(s);
  if (wq::Status s = view->Summarize(args.queue, {}, &queue); !s.ok()) return Fail(s);
  return Say(queue.PausedAt(wq::Clock::System()->WallUs()) ? "would resume " + QueueText(args)
                                                           : QueueText(args) + " is not paused");
}

}  // namespace

int Run(const PauseArgs& args) {
  if (args.dry_run) return DryRun(args);
  const std::optional<int> end = Confirm(args, [&](const wq::StoreView&, std::string* text) {
    *text = "Pause " + PauseText(args) + "?";
    return wq::Status::Ok();
  });
  if (end) return *end;
  ReachedQueue reached;
  if (wq::Status s = ReachQueue(args.store_dir, args.queue, {}, &reached); !s.ok()) return Fail(s);
  if (wq::Status s = reached.access->Pause(args.duration); !s.ok()) return Fail(s);
  if (wq::Status s = reached.Close(); !s.ok()) return Fail(s);
  return Say("paused " + PauseText(args));
}

int Run(const ResumeArgs& args) {
  if (args.dry_run) return DryRun(args);
  const std::optional<int> end = Confirm(args, [&](const wq::StoreView&, std::string* text) {
    *text = "Resume " + QueueText(args) + "?";
    return wq::Status::Ok();
  });
  if (end) return *end;
  ReachedQueue reached;
  bool paused = false;
  if (wq::Status s = ReachQueue(args.store_dir, args.queue, {}, &reached); !s.ok()) return Fail(s);
  if (wq::Status s = reached.access->Resume(&paused); !s.ok()) return Fail(s);
  if (wq::Status s = reached.Close(); !s.ok()) return Fail(s);
  return Say(paused ? "resumed " + QueueText(args) : QueueText(args) + " is not paused");
}

}  // namespace wqctl
