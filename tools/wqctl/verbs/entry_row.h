// The row of an entry in the tables of ls and inspect KEY.
#pragma once

#include <string>
#include <vector>

#include "tools/wqctl/cli/show.h"
#include "wq/entry.h"

namespace wqctl {

// `wide` adds columns before the last one.
std::vector<std::string> EntryHeader(bool wide);
std::vector<std::string> EntryCells(const std::string& queue, const wq::Entry& entry,
                                    const Show& show, bool wide);

}  // namespace wqctl
