// Merging the causes of a key (wq/options.h).
// Pure. Thread-compatible.
#pragma once

#include <string_view>

#include "wq/options.h"

namespace wq {

// Both return whether *causes has changed. An empty cause is none.
bool MergeCause(std::string_view reason, std::string_view trace_parent, Causes* causes);
bool MergeCauses(const Causes& more, Causes* causes);

}  // namespace wq
