#include "bindings/c/boundary/call.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>

namespace wq::c {
namespace {

// `text`, cut on a UTF-8 boundary if it is too long.
void WriteError(wq_error* error, wq_code code, std::string_view text) noexcept {
  if (error == nullptr) {
    return;
  }
  error->code = code;
  size_t size = std::min(text.size(), sizeof error->message - 1);
  while (size > 0 && size < text.size() &&
         (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) {
    --size;
  }
  std::memcpy(error->message, text.data(), size);
  error->message[size] = '\0';
}

wq_code Fail(wq_error* error, wq_code code, const char* text) noexcept {
  WriteError(error, code, text);
  return code;
}

}  // namespace

Status BadHandle(Kind kind, uint64_t handle) {
  const std::string name = KindName(kind);
  return MakeStatus(WQ_BAD_HANDLE, handle == 0 ? "the " + name + " is none (its handle is 0)"
                                               : "handle " + std::to_string(handle) + " is no " +
                                                     name + ", or it was freed");
}

wq_code Report(wq_error* error, const Status& status) noexcept {
  if (status.ok()) {
    return WQ_OK;
  }
  const auto code = static_cast<wq_code>(status.code());
  WriteError(error, code, status.message());
  return code;
}

wq_code ReportException(wq_error* error) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return Fail(error, WQ_NO_MEMORY, "out of memory");
  } catch (const std::exception& e) {
    return Fail(error, WQ_INTERNAL, e.what());
  } catch (...) {
    return Fail(error, WQ_INTERNAL, "an exception that is not a std::exception");
  }
}

wq_code ReportFork(wq_error* error) noexcept {
  return Fail(error, WQ_FORKED,
              "this process is a forked child of one that uses the library; it must exec first");
}

wq_code ReportSecluded(wq_error* error) noexcept {
  return Fail(error, WQ_INVALID_ARGUMENT, "a limiter or a clock must not call the library");
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
