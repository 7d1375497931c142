// Handles of things that stand alone (views, importers, diffs), whose C++ is thread-compatible: calls of
// one of them wait for each other, and its visitors may not call it.
//
//   return CallInTurn<ViewObject>(view.handle, error, [&](ViewObject& v) { return v.view->…; });
//
// T is as for Call (border.h), and has a Turn `turn`. Threading: thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "bindings/c/border/border.h"
#include "bindings/c/border/objects.h"
#include "bindings/c/border/registry.h"

namespace wq::c {

// Holds a turn while it lives. REQUIRES: this thread has it not.
class TakenTurn {
 public:
  explicit TakenTurn(Turn* turn) : lock_(turn->mu), user_(&turn->user) {
    user_->store(std::this_thread::get_id());
  }
  ~TakenTurn() { user_->store({}); }
  TakenTurn(const TakenTurn&) = delete;
  TakenTurn& operator=(const TakenTurn&) = delete;

 private:
  const std::lock_guard<std::mutex> lock_;
  std::atomic<std::thread::id>* const user_;
};

template <typename T, typename Body>
wq_code CallInTurn(uint64_t handle, wq_error* error, const Body& body) noexcept {
  return Call<T>(handle, error, [&](T& object) -> Status {
    if (object.turn.user.load() == std::this_thread::get_id()) {
      return Status::InvalidArgument(std::string("a visitor must not call its ") +
                                     KindName(T::kKind));
    }
    const TakenTurn turn(&object.turn);
    return body(object);
  });
}

// Makes it known; the registry's from now on.
template <typename T>
uint64_t InsertAlone(std::unique_ptr<T> object) {
  const uint64_t handle = Registry::Instance().Insert(T::kKind, object.get());
  static_cast<void>(object.release());
  return handle;
}

// Ends it, when calls that are under way have returned.
template <typename T>
wq_code FreeAlone(const char* call, uint64_t handle, wq_error* error) noexcept {
  return Enter(error, [&]() -> Status {
    if (Status s = NotInCallback(call); !s.ok()) {
      return s;
    }
    Registry& registry = Registry::Instance();
    const std::unique_ptr<T> object(static_cast<T*>(registry.Retire(T::kKind, handle)));
    if (object == nullptr) {
      return BadHandle(T::kKind, handle);
    }
    registry.WaitUnpinned(handle);
    registry.Release(handle);
    return {};
  });
}

}  // namespace wq::c
