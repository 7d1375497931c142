// Limits of groups and queues, converted between C++ and C. Threading: thread-safe.
#pragma once

#include <map>
#include <string>

#include "wq/c/limits.h"
#include "wq/options.h"
#include "wq/status.h"

namespace wq::c {

// NULL: none. InvalidArgument, with the name `what`: a size that is wrong.
Status ToLimits(const char* what, const wq_group_limits* in, GroupLimits* out);
wq_group_limits ToC(const GroupLimits& limits);

// Calls `visit` with the limits of each group until it returns 0. Ok.
Status VisitLimits(const std::map<std::string, GroupLimits>& limits, wq_visit_limits visit,
                   void* arg);

}  // namespace wq::c
