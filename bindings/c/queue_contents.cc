// The C interface: reports of the contents of a queue: counts, lists of keys, positions.

#include "bindings/c/queue_call.h"
#include "wq/queue.h"
#include "wq/wq.h"

using wq::Queue;
using wq::Status;
using wq::c::NullArgument;
using wq::c::Output;
using wq::c::QueueCall;
using wq::c::VisitAll;

extern "C" {

wq_code wq_queue_len(wq_queue queue, size_t* queued, wq_error* error) {
  return QueueCall(queue, error, [&](const Queue& q) { return Output("queued", q.Len(), queued); });
}

wq_code wq_queue_counts(wq_queue queue, wq_counts* counts, wq_error* error) {
  return QueueCall(queue, error, [&](const Queue& q) -> Status {
    const wq::QueueCounts now = q.Counts();
    const wq_counts written{.size = 0,
                            .queued = now.queued,
                            .processing = now.processing,
                            .delayed = now.delayed,
                            .failing = now.failing,
                            .quarantined = now.quarantined,
                            .paused = now.paused ? 1 : 0,
                            .adds = now.adds,
                            .dones = now.dones,
                            .failures = now.failures,
                            .stuck = now.stuck,
                            .full = now.full,
                            .held_back = now.held_back,
                            .resyncs = now.resyncs};
    return Output("counts", written, counts);
  });
}

wq_code wq_queue_list(wq_queue queue, size_t limit, wq_visit_queued visit, void* arg,
                      wq_error* error) {
  return QueueCall(queue, error, [&](const Queue& q) -> Status {
    return VisitAll(visit, q.List(limit), [&](const wq::QueuedKey& key) {
      const wq_queued_key shown{.key = key.key.data(),
                                .key_size = key.key.size(),
                                .lane = key.lane,
                                .group = key.group.data(),
                                .group_size = key.group.size()};
      return visit(arg, &shown);
    });
  });
}

wq_code wq_queue_position_of(wq_queue queue, const char* key, size_t key_size, size_t* position,
                             wq_error* error) {
  return wq::c::KeyCall(queue, key, key_size, error, [&](const Queue& q, std::string_view k) {
    return position == nullptr ? NullArgument("position") : q.PositionOf(k, position);
  });
}

wq_code wq_queue_quarantined(wq_queue queue, wq_visit_quarantined visit, void* arg,
                             wq_error* error) {
  return QueueCall(queue, error, [&](const Queue& q) -> Status {
    return VisitAll(visit, q.Quarantined(), [&](const wq::QuarantinedKey& key) {
      const wq_quarantined_key shown{.key = key.key.data(),
                                     .key_size = key.key.size(),
                                     .failures = key.failures,
                                     .last_error = key.last_error.data(),
                                     .last_error_size = key.last_error.size(),
                                     .quarantined_at_us = key.quarantined_at_us};
      return visit(arg, &shown);
    });
  });
}

}  // extern "C"
