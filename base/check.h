// WQ_CHECK: checks an invariant. If it is false, the process aborts with a message, in every build:
// a queue that continued after a broken invariant would write the damage to disk. Errors that can
// happen are a Status.
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
