// Enter and Call: every function of the C interface is one of them around a lambda.
//
//   wq_code wq_store_health(wq_store store, wq_error* error) {
//     return Call<StoreObject>(store.handle, error,
//                              [](StoreObject& s) { return s.store->Health(); });
//   }
//
// Enter refuses calls in a forked child and in callbacks that may call nothing, and turns
// exceptions into codes. Call also pins the handle's object. A callback of the user runs within a
// CallbackScope, so that a close or free inside it is refused: it would wait for itself.
// Threading: thread-safe; a scope belongs to one thread.
#pragma once

#include <cstdint>
#include <string>

#include "bindings/c/boundary/fork.h"
#include "bindings/c/boundary/registry.h"
#include "bindings/c/boundary/report.h"
#include "wq/c/base.h"
#include "wq/status.h"

namespace wq::c {

Status BadHandle(Kind kind, uint64_t handle);

// Write the error to `error` (may be null).
wq_code ReportFork(wq_error* error) noexcept;
wq_code ReportSecluded(wq_error* error) noexcept;

// The state of this thread in the C interface.
struct Thread {
  int callbacks = 0;                        // The number of nested callbacks.
  int secluded = 0;                         // Of them, those that may call nothing.
  const int64_t* retry_delay_us = nullptr;  // wq_add_options.retry_delay_us of the current call.
};
Thread& ThisThread();

class CallbackScope {
 public:
  CallbackScope() { ++ThisThread().callbacks; }
  ~CallbackScope() { --ThisThread().callbacks; }
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;
};
// A callback that runs under locks of the library, and so may call nothing: a clock.
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

// Calls `body(object)` with the object of the handle pinned.
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

}  // namespace wq::c
