// A SpawnRequest as bytes, for another process that runs the same program. Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "tools/wqctl/process/spawn.h"

namespace wqctl {

std::string EncodePlan(const SpawnRequest& request);

// False: these are not the bytes of a request.
bool DecodePlan(std::string_view plan, SpawnRequest* request);

}  // namespace wqctl
