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

// The name most like `word`, if one is so much like it that it may have been meant.
std::optional<std::string> Nearest(std::string_view word, const std::vector<std::string>& names);

}  // namespace wqctl
