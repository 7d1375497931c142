// What stands out in a store: the sentences that a report begins with.
//
// Each says one thing that somebody who looks for trouble would want to know first, and the
// command that tells more of it. They are made of the numbers of the summaries alone.
#pragma once

#include <string>
#include <vector>

#include "tools/wqctl/cli/show.h"
#include "wq/store_view.h"

namespace wqctl {

enum class Weight : uint8_t { kBad, kOdd };

struct StandsOut {
  Weight weight = Weight::kOdd;
  std::string subject;  // A queue's name; "store" without one.
  std::string text;
  std::string command;  // What tells more of it; may be empty.
};

// The bad ones first. Texts are plain; what they have of a store's bytes is escaped as for a
// terminal.
std::vector<StandsOut> WhatStandsOut(const wq::StoreInfo& store,
                                     const std::vector<wq::QueueSummary>& queues, const Show& show);

}  // namespace wqctl
