// Limiters of the C interface: built from wq_limiter's tree. Thread-safe.
#pragma once

#include <memory>

#include "wq/c/options.h"
#include "wq/limiter.h"
#include "wq/status.h"

namespace wq::c {

// The limiter of a queue: the one of the options (nullptr is the default one), which is not asked when a
// call brings its own delay (Thread::retry_delay_us). InvalidArgument: not a good tree.
Status MakeLimiter(const wq_limiter* options, std::shared_ptr<Limiter>* limiter);

}  // namespace wq::c
