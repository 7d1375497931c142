// wqctl pause, resume: whether a queue hands out keys. wqctl queue delete: deletes a queue.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/cli/queues.h"
#include "tools/wqctl/text/duration.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/output.h"
#include "tools/wqctl/verbs/confirm.h"
#include "tools/wqctl/verbs/reach.h"
#include "wq/keys.h"
#include "wq/live_store.h"
#include "wq/store.h"
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

constexpr const char* kQueueDeleteExamples =
    R"(Deletes its keys in every state, its cursors and its pause. A living owner that
serves the store deletes it, and ends the queue's workers; not if its own program uses the
queue, as wqctl work does. A crash leaves the whole queue or none of it.

Examples:
  wqctl queue delete -q pods --dry-run
  wqctl queue delete -q pods --yes)";

struct PauseArgs : ChangeArgs {
  bool resume = false;
  std::optional<std::chrono::microseconds> duration;  // Unset: until resume.
};

// "queue "q" for 2h".
std::string TextOf(const PauseArgs& args) {
  return "queue \"" + wq::EscapeKey(args.queue) + "\"" +
         (args.duration ? " for " + FormatDuration(*args.duration) : "");
}

int Run(const PauseArgs& args) {
  const Description what = [&](const wq::StoreView& view, std::string* text) {
    *text = (args.resume ? "resume " : "pause ") + TextOf(args);
    if (!args.resume || !args.dry_run) return wq::Status::Ok();
    wq::QueueSummary queue;
    wq::Status s = view.Summarize(args.queue, {}, &queue);
    if (!queue.paused) *text = "not " + *text + ": it is not paused";
    return s;
  };
  if (args.dry_run) return DryRun(args, what);
  if (const std::optional<int> end = Confirm(args, what)) return *end;
  ReachedQueue reached;
  bool paused = false;
  wq::Status s = ReachQueue(args.store_dir, args.queue, {}, &reached);
  if (s.ok() && args.resume) s = reached.access->Resume(&paused);
  if (s.ok() && !args.resume) s = reached.access->Pause(args.duration);
  if (s.ok()) s = reached.Close();
  if (!s.ok()) return Fail(s);
  if (!args.resume) return PrintLine("paused " + TextOf(args));
  return PrintLine(paused ? "resumed " + TextOf(args) : TextOf(args) + " is not paused");
}

struct QueueDeleteArgs : ChangeArgs {};

// As the store's owner, or through it.
wq::Status DeleteQueue(const QueueDeleteArgs& args) {
  std::unique_ptr<wq::Store> store;
  std::unique_ptr<wq::LiveStore> live;
  wq::Status s = ReachStore(
      args.store_dir, [&] { return wq::Store::Open({}, args.store_dir, &store); },
      [&live](std::unique_ptr<wq::LiveStore> connected) {
        live = std::move(connected);
        return wq::Status::Ok();
      });
  if (!s.ok()) return s;
  s = live != nullptr ? live->DeleteQueue(args.queue) : store->DeleteQueue(args.queue);
  if (!s.ok()) return ExplainMissing(args.store_dir, args.queue, s);
  return store != nullptr ? store->Close() : s;
}

int Run(const QueueDeleteArgs& args) {
  const std::string name = "queue \"" + wq::EscapeKey(args.queue) + "\"";
  const Description what = [&](const wq::StoreView& view, std::string* text) {
    wq::QueueSummary queue;
    wq::Status s = view.Summarize(args.queue, {}, &queue);
    *text = "delete " + name + ": pending " + std::to_string(queue.pending) + ", delayed " +
            std::to_string(queue.delayed) + ", failing " + std::to_string(queue.failing) +
            ", quarantined " + std::to_string(queue.quarantined) + ", cursors " +
            std::to_string(queue.cursors.size() + queue.other_cursors);
    return s;
  };
  if (args.dry_run) return DryRun(args, what);
  if (const std::optional<int> end = Confirm(args, what)) return *end;
  if (wq::Status s = DeleteQueue(args); !s.ok()) return Fail(s);
  return PrintLine("deleted " + name);
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

Command ParseQueueDelete(const Input& input) {
  QueueDeleteArgs args;
  VerbParser parser(input,
                    {"Deletes a queue with all that it has.", "",
                     std::string(kQueueDeleteExamples) + kAboutAsking},
                    &args.store_dir);
  AddChangeOptions(&parser, &args);
  parser.ParseWithoutArguments();
  return args;
}

}  // namespace wqctl
