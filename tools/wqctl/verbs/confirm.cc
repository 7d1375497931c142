#include "tools/wqctl/verbs/confirm.h"

#include <unistd.h>

#include <iostream>
#include <vector>

#include "tools/wqctl/cli/queues.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/log.h"
#include "tools/wqctl/text/output.h"
#include "tools/wqctl/verbs/reach.h"

namespace wqctl {
namespace {

bool CanAsk() { return isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1; }

// Only y and yes are a yes.
bool Ask(const std::string& question) {
  std::cerr << question << " [y/N] " << std::flush;
  std::string answer;
  if (!std::getline(std::cin, answer)) std::cerr << '\n';
  return answer == "y" || answer == "Y" || answer == "yes";
}

// The view is gone when this returns: nothing is held open while a person thinks.
wq::Status MakeQuestion(const ChangeArgs& args, const Question& question, std::string* text) {
  const InterruptScope interrupts;
  std::unique_ptr<wq::StoreView> view;
  if (wq::Status s = ViewQueue(args, &view); !s.ok()) return s;
  if (view->info().owner_alive) {
    if (wq::Status s = CheckOwnerServes(args.store_dir, view->info().owner_pid); !s.ok()) return s;
  }
  return question(*view, text);
}

}  // namespace

wq::Status ViewQueue(const ChangeArgs& args, std::unique_ptr<wq::StoreView>* view) {
  if (wq::Status s = wq::StoreView::Open(args.store_dir, view); !s.ok()) return s;
  std::vector<std::string> names;
  return QueuesOf(**view, args.queue, &names);
}

std::optional<int> Confirm(const ChangeArgs& args, const Question& question) {
  if (args.yes) return std::nullopt;
  if (!CanAsk()) {
    LogError(
        "this changes the store, and there is no terminal to ask on: give --yes, or --dry-run to "
        "see "
        "what would be done");
    return kExitUsage;
  }
  std::string text;
  if (wq::Status s = MakeQuestion(args, question, &text); !s.ok()) return Fail(s);
  if (Ask(text)) return std::nullopt;
  LogInfo("nothing was changed");
  return kExitFailure;
}

}  // namespace wqctl
