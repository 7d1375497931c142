#include "tools/wqctl/work/dry_run.h"

#include <algorithm>
#include <memory>

#include "tools/wqctl/cli/queues.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/output.h"
#include "wq/store_view.h"

namespace wqctl {

int DryRun(const std::string& store_dir, const std::vector<std::string>& queues,
           const CommandLine& command) {
  std::unique_ptr<wq::StoreView> view;
  std::vector<std::string> names;
  if (wq::Status s = ViewQueues(store_dir, std::nullopt, &view, &names); !s.ok()) return Fail(s);
  wq::EntryStates states(wq::EntryState::kPending);
  states.Add(wq::EntryState::kDelayed);
  Output out;
  for (const std::string& queue : queues) {
    if (!std::binary_search(names.begin(), names.end(), queue)) {
      return out.Finish(Fail(NoSuchQueue(queue, names)));
    }
    wq::Status s = view->ForEachEntry(queue, states, [&](const wq::Entry& entry) {
      return out.Write(ShellText(command.ArgvFor(entry.key)) + "\n");
    });
    if (!s.ok()) return out.Finish(Fail(s));
  }
  return out.Finish(kExitOk);
}

}  // namespace wqctl
