#include "engine/queue/check_arguments.h"

#include <string>
#include <utility>

#include "base/limits.h"
#include "base/names.h"
#include "engine/order/order.h"
#include "wq/keys.h"

namespace wq {
namespace {

// Of a key in a message; a longer one is cut.
constexpr size_t kShownBytes = 64;

Status CheckDuration(std::string_view what, std::chrono::microseconds duration) {
  if (duration.count() < 0 || duration > kMaxDelay) {
    return Status::InvalidArgument(std::string(what) + " is " + std::to_string(duration.count()) +
                                   " us");
  }
  return {};
}

Status CheckGroup(std::string_view group) {
  if (group.size() > kMaxGroupBytes) {
    return Status::InvalidArgument("the group is " + std::to_string(group.size()) +
                                   " bytes long, the limit is " + std::to_string(kMaxGroupBytes) +
                                   ": '" + EscapeKey(group, kShownBytes) + "'");
  }
  return {};
}

// `what` is for the message.
Status CheckRanges(const std::string& what, const GroupLimits& limits) {
  if (InRange(limits.rate)) {
    return {};
  }
  return Status::InvalidArgument(what + " have a rate of " + NumberText(limits.rate.per_second) +
                                 " a second and " + std::to_string(limits.rate.burst) + " at once");
}

Status CheckResync(const Resync& resync) {
  if (resync.period.count() != 0 && (resync.period < kMinResync || resync.period > kMaxDelay)) {
    return Status::InvalidArgument("resync has a period of " +
                                   std::to_string(resync.period.count()) + " us");
  }
  if (!(resync.jitter >= 0 && resync.jitter <= 0.5)) {
    return Status::InvalidArgument("resync has a jitter of " + NumberText(resync.jitter) +
                                   ", not 0 to 0.5");
  }
  return {};
}

Status CheckFlow(const QueueOptions& options) {
  if (Status s = CheckLimits(options.limits, options.group_limits); !s.ok()) {
    return s;
  }
  if (Status s = CheckDuration("stuck_after", options.stuck_after); !s.ok()) {
    return s;
  }
  if (Status s = CheckDebounce(options.debounce); !s.ok()) {
    return s;
  }
  return CheckResync(options.resync);
}

}  // namespace

Status CheckQueueOptions(const QueueOptions& options) {
  if (options.max_key_bytes == 0 || options.max_key_bytes > kMaxKeyBytes) {
    return Status::InvalidArgument("max_key_bytes is " + std::to_string(options.max_key_bytes) +
                                   ", not 1 to " + std::to_string(kMaxKeyBytes));
  }
  if (options.shards > kMaxShards) {
    return Status::InvalidArgument("shards is " + std::to_string(options.shards) +
                                   ", above the limit of " + std::to_string(kMaxShards));
  }
  if (const char* wrong = CheckOrder(options); wrong != nullptr) {
    return Status::InvalidArgument(wrong);
  }
  return CheckFlow(options);
}

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
  if (options.group.has_value()) {
    if (Status s = CheckGroup(*options.group); !s.ok()) {
      return s;
    }
  }
  if (options.debounce.has_value()) {
    if (Status s = CheckDebounce(*options.debounce); !s.ok()) {
      return s;
    }
  }
  const bool plain = options.reason.empty() && options.trace_parent.empty();
  return plain ? Status::Ok() : CheckCause(options.reason, options.trace_parent);
}

Status CheckDebounce(const Debounce& debounce) {
  if (debounce.quiet.count() < 0 || debounce.max_wait < debounce.quiet ||
      debounce.max_wait > kMaxDelay) {
    return Status::InvalidArgument(
        "debounce has a quiet time of " + std::to_string(debounce.quiet.count()) +
        " us and a longest wait of " + std::to_string(debounce.max_wait.count()) + " us");
  }
  return {};
}

Status CheckLimits(const GroupLimits& of_queue, const GroupLimits& of_groups) {
  Status s = CheckRanges("limits", of_queue);
  return s.ok() ? CheckRanges("group_limits", of_groups) : s;
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

Status CheckPace(KeyChange change, const ChangeOptions& options) {
  if (change != KeyChange::kRelease && (options.delay.count() != 0 || options.per_second != 0)) {
    return Status::InvalidArgument("only a release has a delay or a rate");
  }
  if (options.delay.count() < 0) {
    return Status::InvalidArgument("a release has a delay of " +
                                   std::to_string(options.delay.count()) + " us");
  }
  if (options.per_second != 0 && !InRange(Rate{.per_second = options.per_second})) {
    return Status::InvalidArgument("a release has a rate of " + NumberText(options.per_second) +
                                   " a second");
  }
  return {};
}

Status CheckPause(std::optional<std::chrono::microseconds> duration) {
  if (duration.has_value() && duration->count() <= 0) {
    return Status::InvalidArgument("a pause of " + std::to_string(duration->count()) + " us");
  }
  return {};
}

Status CheckObservation(const Observation& observation) {
  if (observation.object.empty()) {
    return Status::InvalidArgument("the object is empty");
  }
  size_t key_bytes = 0;
  for (const std::string_view key : observation.keys) {
    key_bytes += key.size();
  }
  const std::pair<const char*, std::pair<size_t, size_t>> bounds[] = {
      {"bytes of an object", {observation.object.size(), kMaxObjectBytes}},
      {"bytes of a version", {observation.version.size(), kMaxVersionBytes}},
      {"bytes of a tombstone", {observation.tombstone.size(), kMaxTombstoneBytes}},
      {"keys of an object", {observation.keys.size(), kMaxObjectKeys}},
      {"bytes of the keys of an object", {key_bytes, kMaxObjectKeysBytes}}};
  for (const auto& [what, sizes] : bounds) {
    if (sizes.first > sizes.second) {
      return TooLong(what, sizes.first, sizes.second);
    }
  }
  return {};
}

Status TooLong(std::string_view what, size_t is, size_t limit) {
  return Status::InvalidArgument(std::string(what) + ": " + std::to_string(is) + ", the limit is " +
                                 std::to_string(limit));
}

Status NoSuch(std::string_view what, std::string_view name) {
  std::string message(what);
  message.append(": '").append(EscapeKey(name)).append("'");
  return Status::NotFound(std::move(message));
}

}  // namespace wq
