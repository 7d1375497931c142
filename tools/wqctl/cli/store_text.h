// The text of inspect: what waits, for how long, what fails and why, what is due when. And its
// table, with a row for each queue.
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

// Who owns the store, or did.
std::string OwnerText(const wq::StoreView& view);

// Fits `columns`, which are at least 40, but for long names and absolute times.
void PrintStoreText(const wq::StoreInfo& store, const std::string& owner,
                    const std::vector<wq::QueueSummary>& queues, const Show& show, size_t columns,
                    Output* out);
// `wide`: with a column for each bound of what is due.
void PrintStoreTable(const wq::StoreInfo& store, const std::string& owner,
                     const std::vector<wq::QueueSummary>& queues, const Show& show, bool wide,
                     Output* out);

}  // namespace wqctl
