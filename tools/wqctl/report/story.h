// The story of a store, for people: what waits, for how long, what fails and why, what is due when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/wqctl/cli/show.h"
#include "tools/wqctl/text/output.h"
#include "wq/store_view.h"

namespace wqctl {

// Columns of the terminal that stdout is, or of COLUMNS; 80 where there is neither.
size_t Columns();

// Readable in 40 columns; uses up to `columns` for bars and errors.
void PrintStory(const wq::StoreInfo& store, const std::vector<wq::QueueSummary>& queues,
                const Show& show, size_t columns, Output* out);

// "12.1 MiB".
std::string FormatBytes(uint64_t bytes);

// Cells of the story.
std::string StoryPause(const wq::QueueSummary& queue, const Show& show);
std::string OwnerText(const wq::StoreInfo& store);
std::string FilesText(const wq::StoreInfo& store);

}  // namespace wqctl
