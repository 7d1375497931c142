#include "engine/queue/check_arguments.h"

#include <string>
#include <utility>

#include "base/names.h"
#include "wq/keys.h"

namespace wq {
namespace {

// Of a key in a message; a longer one is cut.
constexpr size_t kShownBytes = 64;

}  // namespace

Status CheckKey(std::string_view key, size_t max_bytes) {
  if (key.empty()) {
    return Status::InvalidArgument("the key is empty");
  }
  if (key.size() > max_bytes) {
    return Status::InvalidArgument("the key is " + std::to_string(key.size()) +
                                   " bytes long, the limit is " + std::to_string(max_bytes) +
                                   ": '" + EscapeKey(key, kShownBytes) + "'");
  }
  return {};
}

Status CheckAddOptions(const AddOptions& options, bool has_lane, std::string_view queue) {
  if (!has_lane) {
    return Status::InvalidArgument("queue '" + std::string(queue) + "' has no lane " +
                                   LaneName(*options.lane));
  }
  if (options.group.has_value() && options.group->size() > kMaxGroupBytes) {
    return Status::InvalidArgument("the group is " + std::to_string(options.group->size()) +
                                   " bytes long, the limit is " + std::to_string(kMaxGroupBytes) +
                                   ": '" + EscapeKey(*options.group, kShownBytes) + "'");
  }
  return CheckCause(options.reason, options.trace_parent);
}

Status CheckCursor(std::string_view name, std::string_view value) {
  if (Status s = CheckName("cursor", name); !s.ok()) {
    return s;
  }
  if (value.size() > kMaxCursorBytes) {
    return Status::InvalidArgument("cursor '" + std::string(name) + "' is " +
                                   std::to_string(value.size()) + " bytes long, the limit is " +
                                   std::to_string(kMaxCursorBytes));
  }
  return {};
}

Status CheckPause(std::optional<std::chrono::microseconds> duration) {
  if (duration.has_value() && duration->count() <= 0) {
    return Status::InvalidArgument("a pause of " + std::to_string(duration->count()) + " us");
  }
  return {};
}

Status NoSuch(std::string_view what, std::string_view name) {
  std::string message(what);
  message.append(": '").append(EscapeKey(name)).append("'");
  return Status::NotFound(std::move(message));
}

}  // namespace wq
