// The results of calls of the C interface: statuses and exceptions as a wq_error and a code.
// Inline, so that a library beside libwq has them too (bindings/c/etcd).
// Threading: thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>

#include "base/utf8.h"
#include "wq/c/base.h"
#include "wq/status.h"

namespace wq::c {

// Writes the code and the text, cut on a UTF-8 boundary if it is too long, to `error` (may be
// null). Returns the code.
inline wq_code Fail(wq_error* error, wq_code code, std::string_view text) noexcept {
  if (error == nullptr) {
    return code;
  }
  error->code = code;
  text = CutUtf8(text, sizeof error->message - 1);
  std::memcpy(error->message, text.data(), text.size());
  error->message[text.size()] = '\0';
  return code;
}

// Writes `status` to `error` (may be null) if it is not ok.
inline wq_code Report(wq_error* error, const Status& status) noexcept {
  return status.ok() ? WQ_OK : Fail(error, static_cast<wq_code>(status.code()), status.message());
}

// The same for the exception that is being handled.
inline wq_code ReportException(wq_error* error) noexcept {
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

}  // namespace wq::c
