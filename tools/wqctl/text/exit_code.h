// The exit codes of wqctl. They are part of its contract: scripts depend on them.
#pragma once

#include <string_view>

#include "wq/status.h"

namespace wqctl {

enum ExitCode : int {
  kExitOk = 0,
  kExitFailure = 1,
  kExitUsage = 2,
  kExitNotFound = 3,    // The store, the queue or the key.
  kExitLocked = 4,      // Another process owns the store.
  kExitCorruption = 5,  // The store is damaged.
};

// The same for people.
inline constexpr std::string_view kExitCodes =
    R"(0 ok, also if the reader of stdout closes it, 1 failure, 2 usage,
3 store, queue or key not found, 4 another process owns the store, and
accepts no changes from others, 5 corruption.)";

// A store of another format version is not damaged: kExitFailure.
ExitCode ExitCodeOf(const wq::Status& status);

// Prints the error on stderr and returns its exit code. REQUIRES: !status.ok().
int Fail(const wq::Status& status);

}  // namespace wqctl
