// wqctl queue delete: deletes a whole queue.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/cli/queues.h"
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

constexpr const char* kQueueDeleteExamples =
    R"(Deletes its keys in every state, its cursors and its pause. A living owner that
serves the store deletes it, and ends the queue's workers; not if its own program uses the
queue, as wqctl work does. A crash leaves the whole queue or none of it.

Examples:
  wqctl queue delete -q pods --dry-run
  wqctl queue delete -q pods --yes)";

struct QueueDeleteArgs : ChangeArgs {};

// "delete queue "pods": pending 3, …".
wq::Status Describe(const QueueDeleteArgs& args, const wq::StoreView& view, std::string* text) {
  wq::QueueSummary queue;
  if (wq::Status s = view.Summarize(args.queue, {}, &queue); !s.ok()) return s;
  *text = "delete queue \"" + wq::EscapeKey(args.queue) + "\": pending " +
          std::to_string(queue.pending) + ", delayed " + std::to_string(queue.delayed) +
          ", failing " + std::to_string(queue.failing) + ", quarantined " +
          std::to_string(queue.quarantined) + ", cursors " +
          std::to_string(queue.cursors.size() + queue.other_cursors);
  return wq::Status::Ok();
}

int DryRun(const QueueDeleteArgs& args) {
  const InterruptScope interrupts;
  std::unique_ptr<wq::StoreView> view;
  std::string text;
  wq::Status s = ViewQueue(args, &view);
  if (s.ok()) s = Describe(args, *view, &text);
  if (!s.ok()) return Fail(s);
  Output out;
  out.Write("would " + text + "\n");
  return out.Finish(kExitOk);
}

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
  if (args.dry_run) return DryRun(args);
  const std::optional<int> end =
      Confirm(args, [&args](const wq::StoreView& view, std::string* text) {
        wq::Status s = Describe(args, view, text);
        if (s.ok()) text->replace(0, 1, "D").append("?");
        return s;
      });
  if (end) return *end;
  if (wq::Status s = DeleteQueue(args); !s.ok()) return Fail(s);
  Output out;
  out.Write("deleted queue \"" + wq::EscapeKey(args.queue) + "\"\n");
  return out.Finish(kExitOk);
}

}  // namespace

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
