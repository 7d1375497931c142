// Handles of views, importers and diffs, whose C++ classes are thread-compatible: calls with one
// handle wait for each other, and a visitor must not call with the handle of its own call.
//
//   using ViewObject = InTurn<Kind::kView, std::unique_ptr<StoreView>>;
//   return CallInTurn<ViewObject>(view.handle, error, [](auto& view) { return view->…; });
//
// Threading: thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "bindings/c/boundary/call.h"
#include "bindings/c/boundary/registry.h"

namespace wq::c {

// A mutex that knows whether this thread holds it.
class WQ_TS(capability("mutex")) Turn {
 public:
  bool IsHeldHere() const { return holder_.load() == std::this_thread::get_id(); }
  void Lock() WQ_TS(acquire_capability()) {
    mu_.Lock();
    holder_.store(std::this_thread::get_id());
  }
  void Unlock() WQ_TS(release_capability()) {
    holder_.store({});
    mu_.Unlock();
  }

 private:
  Mutex mu_;
  std::atomic<std::thread::id> holder_{};
};

class WQ_TS(scoped_lockable) TurnLock {
 public:
  explicit TurnLock(Turn& turn) WQ_TS(acquire_capability(turn)) : turn_(turn) { turn_.Lock(); }
  ~TurnLock() WQ_TS(release_capability()) { turn_.Unlock(); }
  TurnLock(const TurnLock&) = delete;
  TurnLock& operator=(const TurnLock&) = delete;

 private:
  Turn& turn_;
};

// The object of a handle: a T whose users take turns.
template <Kind kOfHandle, typename T>
struct InTurn {
  static constexpr Kind kKind = kOfHandle;
  template <typename... Args>
  explicit InTurn(Args&&... args) : value(std::forward<Args>(args)...) {}

  Turn turn;
  T value WQ_GUARDED_BY(turn);
};

// Calls `body(value)` when the calls before it with this handle have returned.
template <typename Object, typename Body>
wq_code CallInTurn(uint64_t handle, wq_error* error, const Body& body) noexcept {
  return Call<Object>(handle, error, [&](Object& object) -> Status {
    if (object.turn.IsHeldHere()) {
      return Status::InvalidArgument(std::string("a visitor must not call its ") +
                                     KindName(Object::kKind));
    }
    const TurnLock lock(object.turn);
    return body(object.value);
  });
}

// Frees the object when the calls that are under way have returned.
template <typename Object>
wq_code FreeInTurn(const char* call, uint64_t handle, wq_error* error) noexcept {
  return Enter(error, [&]() -> Status {
    if (Status s = NotInCallback(call); !s.ok()) {
      return s;
    }
    const std::unique_ptr<Object> object = RetireAndWait<Object>(handle);
    return object == nullptr ? BadHandle(Object::kKind, handle) : Status::Ok();
  });
}

}  // namespace wq::c
