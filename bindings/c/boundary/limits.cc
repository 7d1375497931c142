#include "bindings/c/boundary/limits.h"

#include "bindings/c/boundary/arguments.h"
#include "bindings/c/boundary/call.h"

namespace wq::c {

Status ToLimits(const char* what, const wq_group_limits* in, GroupLimits* out) {
  wq_group_limits limits;
  if (Status s = ReadSized(what, in, &limits); !s.ok()) {
    return s;
  }
  *out = {.max_processing = limits.max_processing,
          .rate = {.per_second = limits.per_second, .burst = limits.burst == 0 ? 1 : limits.burst},
          .weight = limits.weight == 0 ? 1 : limits.weight};
  return {};
}

wq_group_limits ToC(const GroupLimits& limits) {
  return {.size = sizeof(wq_group_limits),
          .per_second = limits.rate.per_second,
          .burst = limits.rate.burst,
          .max_processing = limits.max_processing,
          .weight = limits.weight};
}

Status VisitLimits(const std::map<std::string, GroupLimits>& limits, wq_visit_limits visit,
                   void* arg) {
  const CallbackScope scope;
  for (const auto& [group, of_group] : limits) {
    const wq_group_limits shown = ToC(of_group);
    if (visit(arg, group.data(), group.size(), &shown) == 0) {
      break;
    }
  }
  return {};
}

}  // namespace wq::c
