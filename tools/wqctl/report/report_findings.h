// Findings: the sentences with which a report begins.
//
// Each names one sign of trouble, and the command that shows details. They depend on the summaries
// only.
#pragma once

#include <string>
#include <vector>

#include "tools/wqctl/cli/show.h"
#include "wq/store_view.h"

namespace wqctl {

enum class Weight : uint8_t { kBad, kOdd };

struct ReportFinding {
  Weight weight = Weight::kOdd;
  std::string subject;  // A queue's name; "store" without one.
  std::string text;
  std::string command;  // Shows details; may be empty.
};

// Weight::kBad first. Texts are plain; bytes of the store in them are escaped as for a terminal.
std::vector<ReportFinding> FindingsOf(const wq::StoreInfo& store,
                                      const std::vector<wq::QueueSummary>& queues,
                                      const Show& show);

}  // namespace wqctl
