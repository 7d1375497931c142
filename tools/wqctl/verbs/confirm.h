// Asking before a store is changed.
//
//   std::optional<int> end = Confirm(args, [&](const wq::StoreView& view, std::string* text) {
//     *text = "Pause queue \"q\"?";
//     return wq::Status::Ok();
//   });
//   if (end) return *end;
//
// Thread-compatible.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tools/wqctl/cli/args.h"
#include "wq/status.h"
#include "wq/store_view.h"

namespace wqctl {

// Opens a view of args.store_dir. NotFound: there is no store, or not this queue in it.
wq::Status ViewQueue(const ChangeArgs& args, std::unique_ptr<wq::StoreView>* view);

using Question = std::function<wq::Status(const wq::StoreView& view, std::string* text)>;

// Nothing if the change may be made: --yes was given, or somebody at the terminal says so.
// Otherwise the exit code, all being said: there is no terminal, the answer is no, or there is
// nothing to ask (no such queue, another owner of the store that takes no changes). `question` sees the store as it is
// before. Blocks: until there is an answer.
std::optional<int> Confirm(const ChangeArgs& args, const Question& question);

}  // namespace wqctl
