// Asks before a store is changed.
//
//   AddChangeOptions(&parser, &args);
//   …
//   const Description what = [&](const wq::StoreView& view, std::string* text) {
//     *text = "pause queue \"q\"";
//     return wq::Status::Ok();
//   };
//   if (args.dry_run) return DryRun(args, what);
//   if (std::optional<int> end = Confirm(args, what)) return *end;
//
// Thread-compatible.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tools/wqctl/cli/cli.h"
#include "wq/status.h"
#include "wq/store_view.h"

namespace wqctl {

// The arguments of every verb that asks.
struct ChangeArgs {
  std::string store_dir;
  std::string queue;
  bool yes = false;      // Do not ask.
  bool dry_run = false;  // Only show what would be done.
};

void AddChangeOptions(VerbParser* parser, ChangeArgs* args);
// The end of these verbs' help.
inline constexpr const char* kAboutAsking = R"(

Asks before, on a terminal; elsewhere --yes is needed. --dry-run only shows what
would be done, also beside a living owner.)";

// Opens a view of args.store_dir. NotFound: no store, or no queue args.queue in it.
wq::Status ViewQueue(const ChangeArgs& args, std::unique_ptr<wq::StoreView>* view);

// Says what would be done to the store as it is now.
using Description = std::function<wq::Status(const wq::StoreView& view, std::string* text)>;

// Prints "would pause queue "q"". Returns the exit code.
int DryRun(const ChangeArgs& args, const Description& what);

// Asks "Pause queue "q"?". Returns nullopt if the change may be made: --yes was given, or the
// answer at the terminal was yes. Otherwise reports the reason and returns the exit code: the
// answer was no, there is no terminal, no such queue, or an owner that takes no changes. Blocks:
// until there is an answer.
std::optional<int> Confirm(const ChangeArgs& args, const Description& what);

}  // namespace wqctl
