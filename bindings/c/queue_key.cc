// The C interface: calls on one key in a queue: removal, its delay, its failures, quarantine.

#include <chrono>
#include <string_view>

#include "bindings/c/queue_call.h"
#include "wq/queue.h"
#include "wq/wq.h"

using wq::Queue;
using wq::Status;
using wq::c::KeyCall;
using wq::c::Output;

extern "C" {

wq_code wq_queue_remove(wq_queue queue, const char* key, size_t key_size, wq_error* error) {
  return KeyCall(queue, key, key_size, error, &Queue::Remove);
}

wq_code wq_queue_cancel_delay(wq_queue queue, const char* key, size_t key_size, wq_error* error) {
  return KeyCall(queue, key, key_size, error, &Queue::CancelDelay);
}

wq_code wq_queue_end_delay(wq_queue queue, const char* key, size_t key_size, wq_error* error) {
  return KeyCall(queue, key, key_size, error, &Queue::EndDelay);
}

wq_code wq_queue_forget(wq_queue queue, const char* key, size_t key_size, wq_error* error) {
  return KeyCall(queue, key, key_size, error, &Queue::Forget);
}

wq_code wq_queue_num_requeues(wq_queue queue, const char* key, size_t key_size, uint64_t* requeues,
                              wq_error* error) {
  return KeyCall(queue, key, key_size, error, [&](const Queue& q, std::string_view k) {
    return Output("requeues", q.NumRequeues(k), requeues);
  });
}

wq_code wq_queue_causes(wq_queue queue, const char* key, size_t key_size, wq_visit_cause visit,
                        void* arg, uint64_t* left_out, wq_error* error) {
  return KeyCall(queue, key, key_size, error, [&](const Queue& q, std::string_view k) -> Status {
    wq::Causes causes;
    if (Status s = wq::c::FirstError({wq::c::NotNull("visit", visit), q.CausesOf(k, &causes)});
        !s.ok()) {
      return s;
    }
    if (left_out != nullptr) {
      *left_out = causes.left_out;
    }
    return wq::c::VisitAll(visit, causes.list, [&](const wq::Cause& cause) {
      return visit(arg, cause.reason.c_str(), cause.trace_parent.c_str());
    });
  });
}

wq_code wq_queue_quarantine(wq_queue queue, const char* key, size_t key_size, const char* failure,
                            size_t failure_size, wq_error* error) {
  return KeyCall(queue, key, key_size, error, [&](Queue& q, std::string_view k) {
    Status s = wq::c::CheckInput("failure", failure, failure_size);
    return s.ok() ? q.Quarantine(k, {failure, failure_size}) : s;
  });
}

wq_code wq_queue_release(wq_queue queue, const char* key, size_t key_size, wq_error* error) {
  return KeyCall(queue, key, key_size, error, &Queue::Release);
}

wq_code wq_queue_release_after(wq_queue queue, const char* key, size_t key_size, int64_t delay_us,
                               wq_error* error) {
  return KeyCall(queue, key, key_size, error, [&](Queue& q, std::string_view k) {
    return q.ReleaseAfter(k, std::chrono::microseconds(delay_us));
  });
}

wq_code wq_queue_drop(wq_queue queue, const char* key, size_t key_size, wq_error* error) {
  return KeyCall(queue, key, key_size, error, &Queue::Drop);
}

wq_code wq_queue_delete(wq_queue queue, const char* key, size_t key_size, wq_error* error) {
  return KeyCall(queue, key, key_size, error, &Queue::Delete);
}

wq_code wq_queue_is_quarantined(wq_queue queue, const char* key, size_t key_size,
                                int32_t* quarantined, wq_error* error) {
  return KeyCall(queue, key, key_size, error, [&](const Queue& q, std::string_view k) {
    return Output("quarantined", q.IsQuarantined(k), quarantined);
  });
}

}  // extern "C"
