// The checks of a queue's options and of the arguments of its calls, with the statuses that name
// what is wrong. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>

#include "wq/options.h"
#include "wq/queue_access.h"
#include "wq/source.h"
#include "wq/status.h"

namespace wq {

// These return InvalidArgument for an argument that is refused.

Status CheckQueueOptions(const QueueOptions& options);
// A key is 1 to `max_bytes` bytes.
Status CheckKey(std::string_view key, size_t max_bytes);
// `has_lane`: options.lane is unset, or the order of the queue has it.
Status CheckAddOptions(const AddOptions& options, bool has_lane, std::string_view queue);
// 0 <= quiet <= max_wait <= kMaxDelay.
Status CheckDebounce(const Debounce& debounce);
Status CheckLimits(const GroupLimits& of_queue, const GroupLimits& of_groups);
Status CheckCursor(std::string_view name, std::string_view value);
// Only kRelease has a delay and a rate, and they are in range.
Status CheckPace(KeyChange change, const ChangeOptions& options);
Status CheckPause(std::optional<std::chrono::microseconds> duration);
// Of the observation alone; the queue checks the keys.
Status CheckObservation(const Observation& observation);
// `what`: `is`, above the limit.
Status TooLong(std::string_view what, size_t is, size_t limit);

// NotFound: "`what`: '`name`'", with the name escaped.
Status NoSuch(std::string_view what, std::string_view name);

}  // namespace wq
