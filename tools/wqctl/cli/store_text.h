// The text of inspect: what waits, for how long, what fails and why, what is due when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/wqctl/cli/show.h"
#include "tools/wqctl/text/output.h"
#include "wq/store_view.h"

namespace wqctl {

// The width of COLUMNS, or of the terminal on stdout; 80 without either.
size_t Columns();

// Fits `columns`, which are at least 40, but for long names and absolute times.
void PrintStoreText(const wq::StoreInfo& store, const std::vector<wq::QueueSummary>& queues,
                    const Show& show, size_t columns, Output* out);

}  // namespace wqctl
