// Trace contexts of attempts to reconcile.
// Thread-safe.
#pragma once

#include <string>

namespace wq {

// The header `traceparent` of a new span in a new trace, which is sampled, with random ids:
// https://www.w3.org/TR/trace-context/, version 00.
std::string NewTraceParent();

}  // namespace wq
