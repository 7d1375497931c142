#include "wq/status.h"

#include <new>
#include <string>
#include <string_view>

#include "base/resources.h"

namespace wq {

std::string_view StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "Ok";
    case StatusCode::kInvalidArgument:
      return "InvalidArgument";
    case StatusCode::kNotFound:
      return "NotFound";
    case StatusCode::kAlreadyExists:
      return "AlreadyExists";
    case StatusCode::kNotProcessing:
      return "NotProcessing";
    case StatusCode::kShuttingDown:
      return "ShuttingDown";
    case StatusCode::kTimedOut:
      return "TimedOut";
    case StatusCode::kLocked:
      return "Locked";
    case StatusCode::kCorruption:
      return "Corruption";
    case StatusCode::kNotDurable:
      return "NotDurable";
    case StatusCode::kIOError:
      return "IOError";
    case StatusCode::kNotSupported:
      return "NotSupported";
    case StatusCode::kNotOwner:
      return "NotOwner";
    case StatusCode::kFull:
      return "Full";
    case StatusCode::kUnauthenticated:
      return "Unauthenticated";
  }
  return "Unknown";
}

std::string Status::ToString() const {
  std::string text(StatusCodeName(code_));
  if (!message_.empty()) {
    text.append(": ").append(message_);
  }
  return text;
}

Status LackOf(std::string_view where, const char* what) noexcept {
  try {
    return Status::IOError(std::string(where) + ": no memory or no thread: " + what);
  } catch (const std::bad_alloc&) {
    return Status::IOError("out of memory");  // So short that the string has it in itself.
  }
}

}  // namespace wq
