// The one rule for the names of queues and cursors.
#pragma once

#include <string_view>

#include "wq/status.h"

namespace wq {

// InvalidArgument, naming it, unless `name` is 1 to 64 of [A-Za-z0-9._-]. `what` is "queue" or so.
Status CheckName(std::string_view what, std::string_view name);

}  // namespace wq
