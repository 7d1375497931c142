// The errors of a store's keys, grouped.
#pragma once

#include <cstdint>
#include <string>

#include "server/errors/error_groups.h"
#include "tools/wqctl/cli/filter.h"
#include "wq/status.h"
#include "wq/store_view.h"

namespace wqctl {

// Adds the failing and quarantined keys of the queue that the filter selects. A key counts once,
// though it may be pending and delayed, too. Ends early, with Ok, when wqctl is interrupted.
// Blocks: for a read of all keys with failures.
wq::Status CollectErrors(const wq::StoreView& view, const std::string& queue, const Filter& filter,
                         int64_t now_us, wq::ErrorGroups* groups);

}  // namespace wqctl
