// Steps of the progress line (text/progress.h) that several verbs have.
//
//   ProgressLine progress(StepOfEntries("dump", view, names, filter));
//   ProgressLine progress({.name = "verify"});
//   const wq::VerifyOptions options = {.progress = StepsOf("verify", &progress)};
//
// Thread-compatible.
#pragma once

#include <string>
#include <vector>

#include "tools/wqctl/cli/filter.h"
#include "tools/wqctl/text/progress.h"
#include "wq/store_view.h"
#include "wq/verify.h"

namespace wqctl {

// Counts the entries of these queues that the filter selects. How many these are is counted when
// the step turns out to be slow, and only if the filter selects all. Borrows `view`.
ProgressStep StepOfEntries(std::string name, const wq::StoreView& view,
                           std::vector<std::string> queues, const Filter& filter);

// Shows the steps of a call of the library as steps of `verb`. Borrows `progress`.
wq::ProgressCallback StepsOf(std::string verb, ProgressLine* progress);

}  // namespace wqctl
