#include "bindings/c/boundary/call.h"

#include <string>

namespace wq::c {
Status BadHandle(Kind kind, uint64_t handle) {
  const std::string name = KindName(kind);
  return {static_cast<StatusCode>(WQ_BAD_HANDLE),
          handle == 0
              ? "the " + name + " is none (its handle is 0)"
              : "handle " + std::to_string(handle) + " is no " + name + ", or it was freed"};
}

wq_code ReportFork(wq_error* error) noexcept {
  return Fail(error, WQ_FORKED,
              "this process is a forked child of one that uses the library; it must exec first");
}

wq_code ReportSecluded(wq_error* error) noexcept {
  return Fail(error, WQ_INVALID_ARGUMENT, "a clock must not call the library");
}

Thread& ThisThread() {
  thread_local Thread thread;
  return thread;
}

Status NotInCallback(const char* call) {
  return ThisThread().callbacks == 0
             ? Status::Ok()
             : Status::InvalidArgument(std::string(call) +
                                       " inside a callback would wait for itself");
}

}  // namespace wq::c
