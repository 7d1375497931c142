#include "tools/wqctl/verbs/confirm.h"

#include <unistd.h>

#include <iostream>
#include <vector>

#include "absl/strings/ascii.h"
#include "tools/wqctl/cli/queues.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/log.h"
#include "tools/wqctl/text/output.h"
#include "tools/wqctl/verbs/reach.h"

namespace wqctl {
namespace {

bool CanAsk() { return isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1; }

// Only "y", "Y" and "yes" mean yes.
bool Ask(const std::string& question) {
  std::cerr << question + " [y/N] ";  // One write, so that the echo of an answer is behind it.
  std::string answer;
  if (!std::getline(std::cin, answer)) std::cerr << '\n';
  return answer == "y" || answer == "Y" || answer == "yes";
}

// Closes the view before it returns: the store is not held open while the user decides.
wq::Status MakeQuestion(const ChangeArgs& args, const Description& what, std::string* text) {
  const InterruptScope interrupts;
  std::unique_ptr<wq::StoreView> view;
  if (wq::Status s = ViewQueue(args, &view); !s.ok()) return s;
  if (wq::Status s = CheckOwnerServes(*view); !s.ok()) return s;
  if (wq::Status s = what(*view, text); !s.ok()) return s;
  text->front() = absl::ascii_toupper(static_cast<unsigned char>(text->front()));
  text->push_back('?');
  return wq::Status::Ok();
}

}  // namespace

void AddChangeOptions(VerbParser* parser, ChangeArgs* args) {
  AddQueue(parser, &args->queue);
  parser->Flag("--yes", "Do not ask", &args->yes);
  parser->Flag("--dry-run", "Show what would be done, and do nothing", &args->dry_run);
}

wq::Status ViewQueue(const ChangeArgs& args, std::unique_ptr<wq::StoreView>* view) {
  std::vector<std::string> names;
  return ViewQueues(args.store_dir, args.queue, view, &names);
}

int DryRun(const ChangeArgs& args, const Description& what) {
  const InterruptScope interrupts;
  std::unique_ptr<wq::StoreView> view;
  std::string text;
  wq::Status s = ViewQueue(args, &view);
  if (s.ok()) s = what(*view, &text);
  return s.ok() ? PrintLine("would " + text) : Fail(s);
}

std::optional<int> Confirm(const ChangeArgs& args, const Description& what) {
  if (args.yes) return std::nullopt;
  if (!CanAsk()) {
    LogError(
        "this changes the store, and there is no terminal to ask on: give --yes, or --dry-run to "
        "see what would be done");
    return kExitUsage;
  }
  std::string text;
  if (wq::Status s = MakeQuestion(args, what, &text); !s.ok()) return Fail(s);
  if (Ask(text)) return std::nullopt;
  LogInfo("nothing was changed");
  return kExitFailure;
}

}  // namespace wqctl
