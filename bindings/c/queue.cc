// The C interface: calls on a queue as a whole: pausing, shutting down, flushing.

#include "wq/queue.h"

#include <chrono>
#include <optional>

#include "bindings/c/boundary/options.h"
#include "bindings/c/queue_call.h"
#include "wq/wq.h"

using wq::Queue;
using wq::Status;
using wq::c::Output;
using wq::c::QueueCall;

extern "C" {

wq_code wq_queue_pause(wq_queue queue, int64_t duration_us, wq_error* error) {
  return QueueCall(queue, error, [duration_us](Queue& q) {
    return duration_us == 0 ? q.Pause() : q.Pause(std::chrono::microseconds(duration_us));
  });
}

wq_code wq_queue_resume(wq_queue queue, wq_error* error) {
  return QueueCall(queue, error, &Queue::Resume);
}

wq_code wq_queue_shut_down(wq_queue queue, wq_error* error) {
  return QueueCall(queue, error, [](Queue& q) {
    q.ShutDown();
    return Status::Ok();
  });
}

wq_code wq_queue_shut_down_with_drain(wq_queue queue, int64_t timeout_us, wq_error* error) {
  return QueueCall(queue, error, [timeout_us](Queue& q) {
    return q.ShutDownWithDrain(wq::c::ToTimeout(timeout_us));
  });
}

wq_code wq_queue_stop(wq_queue queue, wq_error* error) {
  return QueueCall(queue, error, [](Queue& q) {
    q.Stop();
    return Status::Ok();
  });
}

wq_code wq_queue_is_shutting_down(wq_queue queue, int32_t* shutting_down, wq_error* error) {
  return QueueCall(queue, error, [&](Queue& q) {
    return Output("shutting_down", q.IsShuttingDown(), shutting_down);
  });
}

wq_code wq_queue_flush(wq_queue queue, int32_t durability, wq_error* error) {
  return QueueCall(queue, error, [durability](Queue& q) {
    std::optional<wq::Durability> wanted;
    Status s = wq::c::ToDurability(durability, &wanted);
    return s.ok() ? q.Flush(wanted.value_or(wq::Durability::kPower)) : s;
  });
}

}  // extern "C"
