// QueueCall and KeyCall: calls on a queue, and on one key of it.
//
//   wq_code wq_queue_resume(wq_queue queue, wq_error* error) {
//     return QueueCall(queue, error, &Queue::Resume);
//   }
//
// Threading: thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "bindings/c/boundary/arguments.h"
#include "bindings/c/boundary/call.h"
#include "bindings/c/boundary/objects.h"

namespace wq::c {

// Calls `body(queue)`; `body` may be a method of the queue.
template <typename Body>
wq_code QueueCall(wq_queue queue, wq_error* error, const Body& body) noexcept {
  return Call<QueueObject>(queue.handle, error,
                           [&](QueueObject& q) -> Status { return std::invoke(body, *q.queue); });
}

// Checks the key, and calls `body(queue, key)`; `body` may be a method of the queue.
template <typename Body>
wq_code KeyCall(wq_queue queue, const char* key, size_t key_size, wq_error* error,
                const Body& body) noexcept {
  return QueueCall(queue, error, [&](Queue& q) -> Status {
    Status s = CheckInput("key", key, key_size);
    return s.ok() ? std::invoke(body, q, std::string_view(key, key_size)) : s;
  });
}

// Calls `visit_one(entry)`, which calls the caller's visitor, with each entry until it returns 0.
template <typename Visit, typename Entries, typename VisitOne>
Status VisitAll(Visit visit, const Entries& entries, const VisitOne& visit_one) {
  const CallbackScope scope;
  for (auto entry = entries.begin(); visit != nullptr && entry != entries.end(); ++entry) {
    if (visit_one(*entry) == 0) {
      break;
    }
  }
  return NotNull("visit", visit);
}

}  // namespace wq::c
