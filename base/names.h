// Names that several folders share: the rule for names of queues, cursors and snapshots, and the
// names of files that a server adds to a store's directory.
#pragma once

#include <cstddef>
#include <string_view>

#include "wq/status.h"

namespace wq {

inline constexpr size_t kMaxNameBytes = 64;

// Whether `name` is 1 to 64 characters of [A-Za-z0-9._-].
bool IsName(std::string_view name);

// InvalidArgument, naming it, unless IsName(name). `what` is for the message: "queue".
Status CheckName(std::string_view what, std::string_view name);

// The owner's unix socket, if it serves one (wq/server.h): a file in the store's directory that is
// not part of the store's contents.
inline constexpr const char* kControlSocketFile = "control.sock";

}  // namespace wq
