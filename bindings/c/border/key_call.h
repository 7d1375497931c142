// KeyCall: a call about one key of a queue, with the key checked. VisitCursors: what queues and views
// have in common.
// Threading: thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "bindings/c/border/border.h"
#include "bindings/c/border/objects.h"
#include "wq/c/queue.h"

namespace wq::c {

// `body(queue, key)`.
template <typename Body>
wq_code KeyCall(wq_queue queue, const char* key, size_t key_size, wq_error* error,
                const Body& body) noexcept {
  return Call<QueueObject>(queue.handle, error, [&](QueueObject& q) -> Status {
    if (Status s = CheckInput("key", key, key_size); !s.ok()) {
      return s;
    }
    return body(q, std::string_view(key, key_size));
  });
}

inline Status VisitCursors(const std::map<std::string, std::string>& cursors, wq_visit_cursor visit,
                           void* arg) {
  const CallbackScope scope;
  for (const auto& [name, value] : cursors) {
    if (visit(arg, name.c_str(), value.data(), value.size()) == 0) {
      break;
    }
  }
  return {};
}

}  // namespace wq::c
