// The C interface: the cursors of a queue.

#include <string>
#include <string_view>

#include "bindings/c/boundary/bytes.h"
#include "bindings/c/queue_call.h"
#include "wq/queue.h"
#include "wq/wq.h"

namespace {

using wq::Queue;
using wq::Status;
using wq::c::FirstError;
using wq::c::QueueCall;

// Checks the name, and calls `body(queue, name)`.
template <typename Body>
wq_code CursorCall(wq_queue queue, const char* name, wq_error* error, const Body& body) noexcept {
  return QueueCall(queue, error, [&](Queue& q) -> Status {
    return name == nullptr ? wq::c::NullArgument("name")
                           : std::invoke(body, q, std::string_view(name));
  });
}

}  // namespace

extern "C" {

wq_code wq_queue_set_cursor(wq_queue queue, const char* name, const char* value, size_t value_size,
                            wq_error* error) {
  return CursorCall(queue, name, error, [&](Queue& q, std::string_view n) {
    Status s = wq::c::CheckInput("value", value, value_size);
    return s.ok() ? q.SetCursor(n, {value, value_size}) : s;
  });
}

wq_code wq_queue_get_cursor(wq_queue queue, const char* name, wq_bytes* value, wq_error* error) {
  return CursorCall(queue, name, error, [&](const Queue& q, std::string_view n) -> Status {
    std::string found;
    if (Status s = FirstError({wq::c::CheckOutput("value", value), q.GetCursor(n, &found)});
        !s.ok()) {
      return s;
    }
    wq::c::Assign(found, value);
    return {};
  });
}

wq_code wq_queue_erase_cursor(wq_queue queue, const char* name, wq_error* error) {
  return CursorCall(queue, name, error, &Queue::EraseCursor);
}

wq_code wq_queue_cursors(wq_queue queue, wq_visit_cursor visit, void* arg, wq_error* error) {
  return QueueCall(queue, error, [&](const Queue& q) -> Status {
    return wq::c::VisitAll(visit, q.Cursors(), [&](const auto& cursor) {
      const auto& [name, value] = cursor;
      return visit(arg, name.c_str(), value.data(), value.size());
    });
  });
}

}  // extern "C"
