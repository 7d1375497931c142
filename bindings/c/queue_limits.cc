// The C interface: the limits of a queue and its groups.

#include <optional>
#include <string_view>

#include "bindings/c/boundary/limits.h"
#include "bindings/c/queue_call.h"
#include "wq/queue.h"
#include "wq/wq.h"

namespace {

using wq::GroupLimits;
using wq::Queue;
using wq::Status;
using wq::c::QueueCall;

// Checks the group, and calls `body(queue, group)`.
template <typename Body>
wq_code GroupCall(wq_queue queue, const char* group, size_t group_size, wq_error* error,
                  const Body& body) noexcept {
  return QueueCall(queue, error, [&](Queue& q) -> Status {
    Status s = wq::c::CheckInput("group", group, group_size);
    return s.ok() ? body(q, std::string_view(group, group_size)) : s;
  });
}

Status CheckOutputs(const wq_group_limits* limits, const wq_group_status* status) {
  if (limits != nullptr) {
    if (Status s = wq::c::CheckSized("limits", limits); !s.ok()) {
      return s;
    }
  }
  return status == nullptr ? Status::Ok() : wq::c::CheckSized("status", status);
}

}  // namespace

extern "C" {

wq_code wq_queue_set_limits(wq_queue queue, const char* group, size_t group_size,
                            const wq_group_limits* limits, wq_error* error) {
  return GroupCall(queue, group, group_size, error, [&](Queue& q, std::string_view g) -> Status {
    if (limits == nullptr) {
      return q.SetLimits(g, std::nullopt);
    }
    GroupLimits own;
    Status s = wq::c::ToLimits("limits", limits, &own);
    return s.ok() ? q.SetLimits(g, own) : s;
  });
}

wq_code wq_queue_get_limits(wq_queue queue, const char* group, size_t group_size,
                            wq_group_limits* limits, wq_group_status* status, wq_error* error) {
  return GroupCall(queue, group, group_size, error, [&](Queue& q, std::string_view g) -> Status {
    if (Status s = CheckOutputs(limits, status); !s.ok()) {
      return s;
    }
    wq::GroupStatus now;
    if (Status s = q.GetLimits(g, &now); !s.ok()) {
      return s;
    }
    if (limits != nullptr) {
      wq::c::WriteSized(wq::c::ToC(now.limits), limits);
    }
    if (status != nullptr) {
      const wq_group_status written{
          .size = 0,
          .processing = now.processing,
          .own_limits = now.own_limits ? 1 : 0,
          .held_back = now.held_back ? 1 : 0,
          .next_in_us = now.next_in.has_value() ? now.next_in->count() : -1};
      wq::c::WriteSized(written, status);
    }
    return {};
  });
}

wq_code wq_queue_limits(wq_queue queue, wq_visit_limits visit, void* arg, wq_error* error) {
  return QueueCall(queue, error, [&](const Queue& q) -> Status {
    return visit == nullptr ? wq::c::NullArgument("visit")
                            : wq::c::VisitLimits(q.Limits(), visit, arg);
  });
}

}  // extern "C"
