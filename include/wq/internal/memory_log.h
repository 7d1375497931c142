// MakeMemoryLog: a log in this process's memory, for tests and simulations. Internal: this header
// is not installed.
#pragma once

#include <memory>

#include "wq/clock.h"
#include "wq/replicated_log.h"

namespace wq {

// It survives the stores that use it, and nothing else. Leases run on `clock` (nullptr:
// Clock::System()).
std::shared_ptr<ReplicatedLog> MakeMemoryLog(Clock* clock = nullptr);

}  // namespace wq
