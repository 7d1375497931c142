#include "tools/wqctl/text/exit_code.h"

#include <string>

#include "base/mutant.h"
#include "tools/wqctl/text/bytes_text.h"
#include "tools/wqctl/text/log.h"
#include "wq/keys.h"

namespace wqctl {

ExitCode ExitCodeOf(const wq::Status& status) {
  switch (status.code()) {
    case wq::StatusCode::kOk:
      return kExitOk;
    case wq::StatusCode::kInvalidArgument:
      return kExitUsage;
    case wq::StatusCode::kNotFound:
      return kExitNotFound;
    case wq::StatusCode::kLocked:
      return kExitLocked;
    case wq::StatusCode::kCorruption:
      return WQ_MUTANT(corruption_is_a_failure) ? kExitFailure : kExitCorruption;
    default:
      return kExitFailure;
  }
}

int Fail(const wq::Status& status) {
  const std::string message = status.message().empty() ? status.ToString() : status.message();
  // The names of keys and queues in it are escaped, but paths need not be.
  LogError(NeedsEscapes(message) && !WQ_MUTANT(message_is_not_escaped)
               ? wq::EscapeKey(message, message.size())
               : message);
  return ExitCodeOf(status);
}

}  // namespace wqctl
