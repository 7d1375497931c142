// The waits of options, as a caller may give them.
#pragma once

#include <algorithm>
#include <chrono>

#include "wq/options.h"

namespace wq {

// From 0 to kMaxDelay: added to any time there is still a time.
inline std::chrono::milliseconds BoundedWait(std::chrono::milliseconds wait) {
  return std::clamp(wait, std::chrono::milliseconds(0),
                    std::chrono::duration_cast<std::chrono::milliseconds>(kMaxDelay));
}

}  // namespace wq
