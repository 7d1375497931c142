// The layout of record keys: docs/format.md in code. Internal to storage/.
//
// These layouts are on disk: changing one needs a new format version.
// Integers are big-endian, so that byte order is numeric order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/records.h"

namespace wq::storage {

inline constexpr std::string_view kStoreKey = "store";
inline constexpr std::string_view kProcessLogKey = "process-log";
inline constexpr std::string_view kTokensKey = "tokens";
inline constexpr std::string_view kReplicationKey = "replication";
inline constexpr std::string_view kAheadKey = "replication/ahead";
inline constexpr std::string_view kQueuePrefix = "queue/";
inline constexpr std::string_view kStatePrefix = "state/";
// Of an earlier version: an opening as owner removes these rows. Not to be used again.
inline constexpr std::string_view kRemovedPrefix = "limits/";

inline constexpr size_t kQueuePrefixBytes = 4;                        // be32 queue
inline constexpr size_t kDirtyPrefixBytes = kQueuePrefixBytes + 8;    // · be64 block
inline constexpr size_t kLanesPrefixBytes = kDirtyPrefixBytes + 4;    // be32 lane code in between
inline constexpr size_t kDelayedPrefixBytes = kQueuePrefixBytes + 8;  // · be64 ready_at

inline void AppendBig32(uint32_t value, std::string* out) {
  const uint32_t big = __builtin_bswap32(value);
  out->append(reinterpret_cast<const char*>(&big), sizeof big);
}
inline void AppendBig64(uint64_t value, std::string* out) {
  const uint64_t big = __builtin_bswap64(value);
  out->append(reinterpret_cast<const char*>(&big), sizeof big);
}
// REQUIRES: `bytes` is long enough.
inline uint32_t ReadBig32(std::string_view bytes) {
  uint32_t big;
  __builtin_memcpy(&big, bytes.data(), sizeof big);
  return __builtin_bswap32(big);
}
inline uint64_t ReadBig64(std::string_view bytes) {
  uint64_t big;
  __builtin_memcpy(&big, bytes.data(), sizeof big);
  return __builtin_bswap64(big);
}

// Sorts higher lanes first: the complement of the lane with its sign bit flipped.
inline uint32_t LaneCode(Lane lane) { return ~(static_cast<uint32_t>(lane) ^ 0x80000000U); }
inline Lane LaneOfCode(uint32_t code) { return static_cast<Lane>(~code ^ 0x80000000U); }

// Keeps the order of negative times too: the sign bit is flipped.
inline uint64_t TimeCode(int64_t time_us) {
  return static_cast<uint64_t>(time_us) ^ 0x8000000000000000U;
}
inline int64_t TimeOfCode(uint64_t code) {
  return static_cast<int64_t>(code ^ 0x8000000000000000U);
}

inline Family PendingFamily(Lane lane) {
  return lane == kFastLane ? Family::kDirty : Family::kLanes;
}

// The length of a pending record's key before the bytes of the queue's key.
inline size_t PendingPrefixBytes(Family family) {
  return family == Family::kDirty ? kDirtyPrefixBytes : kLanesPrefixBytes;
}

// The part of a record's key before the bytes of the queue's key.
class KeyPrefix {
 public:
  explicit KeyPrefix(QueueId queue) { Append(__builtin_bswap32(queue)); }
  void Append32(uint32_t value) { Append(__builtin_bswap32(value)); }
  void Append64(uint64_t value) { Append(__builtin_bswap64(value)); }

  std::string_view view() const { return {bytes_, size_}; }

 private:
  template <typename Big>
  void Append(Big big) {
    __builtin_memcpy(bytes_ + size_, &big, sizeof big);
    size_ += sizeof big;
  }

  char bytes_[kLanesPrefixBytes];  // The longest prefix.
  size_t size_ = 0;
};

inline KeyPrefix PendingPrefix(QueueId queue, Lane lane, uint64_t sequence) {
  KeyPrefix prefix(queue);
  if (lane != kFastLane) prefix.Append32(LaneCode(lane));
  prefix.Append64(sequence >> kSequenceBlockBits);
  return prefix;
}
inline KeyPrefix DelayedPrefix(QueueId queue, int64_t ready_at_us) {
  KeyPrefix prefix(queue);
  prefix.Append64(TimeCode(ready_at_us));
  return prefix;
}
// Before the key in `failures` and `quarantine`; before the name in `cursors`.
inline KeyPrefix NamedPrefix(QueueId queue) { return KeyPrefix(queue); }

inline void AppendPendingKey(QueueId queue, Lane lane, uint64_t sequence, std::string_view key,
                             std::string* out) {
  out->append(PendingPrefix(queue, lane, sequence).view()).append(key);
}
inline void AppendNamedKey(QueueId queue, std::string_view name, std::string* out) {
  out->append(NamedPrefix(queue).view()).append(name);
}

// Of a source; before the object in the keys of its objects, which are not empty.
inline constexpr size_t kSourcePrefixBytes = kQueuePrefixBytes + 4;  // · be32 source
inline KeyPrefix SourcePrefix(QueueId queue, SourceId source) {
  KeyPrefix prefix(queue);
  prefix.Append32(source);
  return prefix;
}

inline std::string QueueKeyPrefix(QueueId queue) { return std::string(KeyPrefix(queue).view()); }

inline std::string StateKey(QueueId queue) {
  std::string key(kStatePrefix);
  AppendBig32(queue, &key);
  return key;
}

}  // namespace wq::storage
