// Which queues of a store a verb is about, and what to say when there is no such one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wq/status.h"
#include "wq/store_view.h"

namespace wqctl {

// The queue that was named, or all of them, sorted. NotFound: there is none of this name; the message
// says which name is like it.
wq::Status QueuesOf(const wq::StoreView& view, const std::optional<std::string>& queue,
                    std::vector<std::string>* names);

// NotFound: none of `names` is this queue; the message says which one is like it.
wq::Status NoSuchQueue(std::string_view queue, const std::vector<std::string>& names);

// What to say of a queue that could not be opened: `status`, or if it is that the store has no such
// queue, NoSuchQueue.
wq::Status ExplainMissing(const std::string& store_dir, const std::string& queue,
                          wq::Status status);

// The name most like `word`, if one is so much like it that it may have been meant.
std::optional<std::string> Nearest(std::string_view word, const std::vector<std::string>& names);

}  // namespace wqctl
