// Builds a limiter from a tree of wq_limiter. Thread-safe.
#pragma once

#include <memory>

#include "wq/c/options.h"
#include "wq/limiter.h"
#include "wq/status.h"

namespace wq::c {

// The limiter of a queue: that of the options (nullptr: the default limiter), which is not called
// when a call has its own delay (Thread::retry_delay_us). InvalidArgument: the tree is malformed.
Status MakeLimiter(const wq_limiter* options, std::shared_ptr<Limiter>* limiter);

}  // namespace wq::c
