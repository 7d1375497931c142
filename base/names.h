// Names that several folders share: the rule for the names of queues, cursors and snapshots, and the name of
// the control socket.
#pragma once

#include <string_view>

#include "wq/status.h"

namespace wq {

// Whether `name` is 1 to 64 of [A-Za-z0-9._-].
bool IsName(std::string_view name);

// InvalidArgument, naming it, unless IsName(name). `what` is "queue" or so.
Status CheckName(std::string_view what, std::string_view name);

// The owner's unix socket, if it serves one: a file in the store's directory that is not part of what is
// stored. See wq/server.h.
inline constexpr const char* kControlSocketFile = "control.sock";

}  // namespace wq
