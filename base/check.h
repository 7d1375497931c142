// WQ_CHECK: for what cannot happen. It crashes with a message in every build, because a queue that
// goes on after a broken invariant writes the damage to disk. Errors that can happen are a Status.
#pragma once

namespace wq {

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              const char* message);

}  // namespace wq

#define WQ_CHECK(condition, message)                              \
  do {                                                            \
    if (!(condition)) [[unlikely]]                                \
      ::wq::CheckFailed(__FILE__, __LINE__, #condition, message); \
  } while (false)
