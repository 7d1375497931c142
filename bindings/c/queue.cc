// The C interface: taking back, failures, quarantine, cursors, pausing, shutting down.

#include "wq/queue.h"

#include <optional>

#include "bindings/c/border/key_call.h"
#include "bindings/c/border/options.h"
#include "wq/wq.h"

namespace {

using wq::Status;
using wq::c::Call;
using wq::c::KeyCall;
using wq::c::QueueObject;

// `body(queue, name)`.
template <typename Body>
wq_code CursorCall(wq_queue queue, const char* name, wq_error* error, const Body& body) noexcept {
  return Call<QueueObject>(queue.handle, error, [&](QueueObject& q) -> Status {
    return name == nullptr ? wq::c::NullArgument("name") : body(*q.queue, std::string_view(name));
  });
}

}  // namespace

extern "C" {

wq_code wq_queue_remove(wq_queue queue, const char* key, size_t key_size, wq_error* error) {
  return KeyCall(queue, key, key_size, error,
                 [](QueueObject& q, std::string_view k) { return q.queue->Remove(k); });
}

wq_code wq_queue_cancel_delay(wq_queue queue, const char* key, size_t key_size, wq_error* error) {
  return KeyCall(queue, key, key_size, error,
                 [](QueueObject& q, std::string_view k) { return q.queue->CancelDelay(k); });
}

wq_code wq_queue_end_delay(wq_queue queue, const char* key, size_t key_size, wq_error* error) {
  return KeyCall(queue, key, key_size, error,
                 [](QueueObject& q, std::string_view k) { return q.queue->EndDelay(k); });
}

wq_code wq_queue_forget(wq_queue queue, const char* key, size_t key_size, wq_error* error) {
  return KeyCall(queue, key, key_size, error,
                 [](QueueObject& q, std::string_view k) { return q.queue->Forget(k); });
}

wq_code wq_queue_num_requeues(wq_queue queue, const char* key, size_t key_size, uint64_t* requeues,
                              wq_error* error) {
  return KeyCall(queue, key, key_size, error, [&](QueueObject& q, std::string_view k) -> Status {
    if (requeues == nullptr) {
      return wq::c::NullArgument("requeues");
    }
    *requeues = q.queue->NumRequeues(k);
    return {};
  });
}

// --- Quarantine ---

wq_code wq_queue_quarantine(wq_queue queue, const char* key, size_t key_size, const char* failure,
                            size_t failure_size, wq_error* error) {
  return KeyCall(queue, key, key_size, error, [&](QueueObject& q, std::string_view k) {
    Status s = wq::c::CheckInput("failure", failure, failure_size);
    return s.ok() ? q.queue->Quarantine(k, {failure, failure_size}) : s;
  });
}

wq_code wq_queue_release(wq_queue queue, const char* key, size_t key_size, wq_error* error) {
  return KeyCall(queue, key, key_size, error,
                 [](QueueObject& q, std::string_view k) { return q.queue->Release(k); });
}

wq_code wq_queue_drop(wq_queue queue, const char* key, size_t key_size, wq_error* error) {
  return KeyCall(queue, key, key_size, error,
                 [](QueueObject& q, std::string_view k) { return q.queue->Drop(k); });
}

wq_code wq_queue_is_quarantined(wq_queue queue, const char* key, size_t key_size,
                                int32_t* quarantined, wq_error* error) {
  return KeyCall(queue, key, key_size, error, [&](QueueObject& q, std::string_view k) -> Status {
    if (quarantined == nullptr) {
      return wq::c::NullArgument("quarantined");
    }
    *quarantined = q.queue->IsQuarantined(k) ? 1 : 0;
    return {};
  });
}

// --- Cursors ---

wq_code wq_queue_set_cursor(wq_queue queue, const char* name, const char* value, size_t value_size,
                            wq_error* error) {
  return CursorCall(queue, name, error, [&](wq::Queue& q, std::string_view n) {
    Status s = wq::c::CheckInput("value", value, value_size);
    return s.ok() ? q.SetCursor(n, {value, value_size}) : s;
  });
}

wq_code wq_queue_get_cursor(wq_queue queue, const char* name, wq_bytes* value, wq_error* error) {
  return CursorCall(queue, name, error, [&](const wq::Queue& q, std::string_view n) -> Status {
    if (Status s = wq::c::CheckOutput("value", value); !s.ok()) {
      return s;
    }
    std::string found;
    if (Status s = q.GetCursor(n, &found); !s.ok()) {
      return s;
    }
    wq::c::Assign(found, value);
    return {};
  });
}

wq_code wq_queue_erase_cursor(wq_queue queue, const char* name, wq_error* error) {
  return CursorCall(queue, name, error,
                    [](wq::Queue& q, std::string_view n) { return q.EraseCursor(n); });
}

// --- Pausing ---

wq_code wq_queue_pause(wq_queue queue, int64_t duration_us, wq_error* error) {
  return Call<QueueObject>(queue.handle, error, [duration_us](QueueObject& q) {
    return duration_us == 0 ? q.queue->Pause()
                            : q.queue->Pause(std::chrono::microseconds(duration_us));
  });
}

wq_code wq_queue_resume(wq_queue queue, wq_error* error) {
  return Call<QueueObject>(queue.handle, error, [](QueueObject& q) { return q.queue->Resume(); });
}

// --- Shutting down ---

wq_code wq_queue_shut_down(wq_queue queue, wq_error* error) {
  return Call<QueueObject>(queue.handle, error, [](QueueObject& q) {
    q.queue->ShutDown();
    return Status::Ok();
  });
}

wq_code wq_queue_shut_down_with_drain(wq_queue queue, int64_t timeout_us, wq_error* error) {
  return Call<QueueObject>(queue.handle, error, [timeout_us](QueueObject& q) {
    return q.queue->ShutDownWithDrain(wq::c::ToTimeout(timeout_us));
  });
}

wq_code wq_queue_stop(wq_queue queue, wq_error* error) {
  return Call<QueueObject>(queue.handle, error, [](QueueObject& q) {
    q.queue->Stop();
    return Status::Ok();
  });
}

wq_code wq_queue_is_shutting_down(wq_queue queue, int32_t* shutting_down, wq_error* error) {
  return Call<QueueObject>(queue.handle, error, [&](QueueObject& q) -> Status {
    if (shutting_down == nullptr) {
      return wq::c::NullArgument("shutting_down");
    }
    *shutting_down = q.queue->IsShuttingDown() ? 1 : 0;
    return {};
  });
}

wq_code wq_queue_flush(wq_queue queue, int32_t durability, wq_error* error) {
  return Call<QueueObject>(queue.handle, error, [durability](QueueObject& q) {
    std::optional<wq::Durability> wanted;
    Status bad = wq::c::ToDurability(durability, &wanted);
    return bad.ok() ? q.queue->Flush(wanted.value_or(wq::Durability::kPower)) : bad;
  });
}

}  // extern "C"
