// The bounds of a queue's sources, which remember of each object what they have seen.
#pragma once

#include <cstddef>

namespace wq {

// What an object may have; more is refused with InvalidArgument.
inline constexpr size_t kMaxObjectBytes = 1024;
inline constexpr size_t kMaxVersionBytes = 128;
inline constexpr size_t kMaxTombstoneBytes = 4096;
inline constexpr size_t kMaxObjectKeys = 1000;
inline constexpr size_t kMaxObjectKeysBytes = size_t{64} << 10;  // Of all its keys.
inline constexpr size_t kMaxSources = 1000;                      // Of a queue.

}  // namespace wq
