// The border between C and C++: every function of the C interface is one Enter or Call around a lambda
// that returns a Status.
//
//   wq_code wq_queue_stop(wq_queue queue, wq_error* error) {
//     return Call<QueueObject>(queue.handle, error, [](QueueObject& q) { q.queue->Stop(); return … });
//   }
//
// Enter refuses forks and secluded callbacks, and lets no exception out; Call also pins the handle's object.
// Callbacks are wrapped in a CallbackScope, so that a close or free inside one is refused instead of
// waiting for itself. Threading: thread-safe; the scopes are of one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings/c/border/fork.h"
#include "bindings/c/border/registry.h"
#include "wq/c/base.h"
#include "wq/status.h"

namespace wq::c {

// The codes that only the C interface has, as statuses.
inline Status MakeStatus(wq_code code, std::string message) {
  return {static_cast<StatusCode>(code), std::move(message)};
}
Status BadHandle(Kind kind, uint64_t handle);

// Writes `status` to `error` (may be null) if it is not ok.
wq_code Report(wq_error* error, const Status& status) noexcept;
// The same for the exception that is being handled.
wq_code ReportException(wq_error* error) noexcept;
wq_code ReportFork(wq_error* error) noexcept;
wq_code ReportSecluded(wq_error* error) noexcept;

// What this thread is doing for the C interface.
struct Thread {
  int callbacks = 0;                        // How many callbacks deep it is.
  int secluded = 0;                         // Of them, those that may call nothing.
  const int64_t* retry_delay_us = nullptr;  // wq_add_options.retry_delay_us of the call under way.
};
Thread& ThisThread();

class CallbackScope {
 public:
  CallbackScope() { ++ThisThread().callbacks; }
  ~CallbackScope() { --ThisThread().callbacks; }
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;
};
// A callback that runs under locks, and so may call nothing: a limiter, a clock.
class SecludedScope {
 public:
  SecludedScope() { ++ThisThread().secluded; }
  ~SecludedScope() { --ThisThread().secluded; }
  SecludedScope(const SecludedScope&) = delete;
  SecludedScope& operator=(const SecludedScope&) = delete;

 private:
  const CallbackScope callback_;
};
// InvalidArgument inside a callback.
Status NotInCallback(const char* call);

template <typename Body>
wq_code Enter(wq_error* error, const Body& body) noexcept {
  if (Forked()) [[unlikely]] {
    return ReportFork(error);
  }
  if (ThisThread().secluded > 0) [[unlikely]] {
    return ReportSecluded(error);
  }
  try {
    return Report(error, body());
  } catch (...) {
    return ReportException(error);
  }
}

// The object of a handle, pinned while this lives. T has a constant kKind.
template <typename T>
class Pinned {
 public:
  explicit Pinned(uint64_t handle)
      : handle_(handle), object_(static_cast<T*>(Registry::Instance().Pin(T::kKind, handle))) {}
  ~Pinned() {
    if (object_ != nullptr) {
      Registry::Instance().Unpin(handle_);
    }
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

  T* get() const { return object_; }

 private:
  const uint64_t handle_;
  T* const object_;
};

template <typename T, typename Body>
wq_code Call(uint64_t handle, wq_error* error, const Body& body) noexcept {
  return Enter(error, [&]() -> Status {
    const Pinned<T> object(handle);
    if (object.get() == nullptr) [[unlikely]] {
      return BadHandle(T::kKind, handle);
    }
    return body(*object.get());
  });
}

// --- Arguments ---

inline Status NullArgument(const char* what) {
  return Status::InvalidArgument(std::string(what) + " is NULL");
}
template <typename T>
Status NotNull(const char* what, const T* pointer) {
  return pointer == nullptr ? NullArgument(what) : Status::Ok();
}
// NULL is good for no bytes.
Status CheckInput(const char* what, const char* data, size_t size);
Status CheckOutput(const char* what, const wq_bytes* bytes);
// REQUIRES: CheckInput.
inline std::string ToString(const char* data, size_t size) {
  return size == 0 ? std::string() : std::string(data, size);
}

// Structs that begin with their size. Bytes beyond what this library knows must be 0.
Status ReadSized(const char* what, const void* in, size_t known, void* out);
template <typename T>
Status ReadSized(const char* what, const T* in, T* out) {
  static_assert(std::is_trivially_copyable_v<T>);
  *out = {};
  return in == nullptr ? Status::Ok() : ReadSized(what, in, sizeof *out, static_cast<void*>(out));
}
Status CheckSize(const char* what, size_t size);
// InvalidArgument if `out` is NULL or has no size.
template <typename T>
Status CheckSized(const char* what, const T* out) {
  return out == nullptr ? NullArgument(what) : CheckSize(what, out->size);
}
// Gives the caller as much of `value` as his version of it has; keeps his `size`.
template <typename T>
void WriteSized(const T& value, T* out) {
  const size_t size = out->size;
  std::memcpy(out, &value, size < sizeof value ? size : sizeof value);
  out->size = size;
}
// Both, for a call that has nothing to do but to tell `value`.
template <typename T>
Status Give(const char* what, const T& value, T* out) {
  Status s = CheckSized(what, out);
  if (s.ok()) {
    WriteSized(value, out);
  }
  return s;
}

inline constexpr size_t kKeyHeader = 4;  // The size in front of a key of a list.

// --- Bytes out. Throw std::bad_alloc ---

void Reserve(size_t capacity, wq_bytes* bytes);  // For so many, and a NUL.
void Assign(std::string_view value, wq_bytes* bytes);
void AppendKey(std::string_view key, wq_bytes* list);  // To a key list.
// Check the argument, too.
Status AssignChecked(const char* what, std::string_view value, wq_bytes* bytes);
Status AssignKeys(const char* what, const std::vector<std::string>& keys, wq_bytes* list);

// --- Key lists in ---

// Takes the next key off `list`. REQUIRES: the list is not empty. InvalidArgument: it is not well-formed.
Status NextKey(std::string_view* list, std::string_view* key);
// All keys of a list, checked. They borrow its bytes.
Status ReadKeys(const char* what, const char* list, size_t size,
                std::vector<std::string_view>* keys);

}  // namespace wq::c
