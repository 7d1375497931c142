// Entry: one key of a queue in one state, as it stands in a store. What StoreView shows, what an
// Importer writes, and what EntryDiff compares.
//
// Plain values. Times are microseconds since 1970-01-01T00:00:00Z.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wq/options.h"

namespace wq {

struct FailureInfo {
  uint64_t count = 0;
  int64_t first_at_us = 0;
  int64_t last_at_us = 0;
  std::string last_error;

  friend bool operator==(const FailureInfo&, const FailureInfo&) = default;
};

enum class EntryState : uint8_t {
  kPending = 0,  // Dirty: queued, or processing at this moment or at the crash.
  kDelayed = 1,
  kFailing = 2,  // Only a failure count is kept: neither pending nor delayed nor quarantined.
  kQuarantined = 3,
};
inline constexpr size_t kEntryStateCount = 4;

// "pending", "delayed", "failing" or "quarantined".
std::string_view EntryStateName(EntryState state);
// The inverse; nullopt for anything else.
std::optional<EntryState> ParseEntryState(std::string_view name);

// A set of states.
class EntryStates {
 public:
  constexpr EntryStates() = default;
  constexpr explicit EntryStates(EntryState state) { Add(state); }
  static constexpr EntryStates All() {
    EntryStates all;
    all.bits_ = (1U << kEntryStateCount) - 1;
    return all;
  }
  constexpr void Add(EntryState state) { bits_ |= 1U << static_cast<unsigned>(state); }
  constexpr bool Has(EntryState state) const {
    return (bits_ >> static_cast<unsigned>(state) & 1U) != 0;
  }
  friend constexpr bool operator==(EntryStates, EntryStates) = default;

 private:
  unsigned bits_ = 0;  // One for each state, by its number.
};

// One entry of a queue. A key that is both pending and delayed has two; so has one that was
// quarantined while a worker held it, as long as the worker holds it.
struct Entry {
  std::string key;
  EntryState state = EntryState::kPending;
  Lane lane = kFastLane;          // Not failing. Quarantined: where it goes when it is released.
  std::string group;              // Not failing. Empty: none.
  std::optional<uint32_t> shard;  // Not failing; of a queue with shards.
  uint64_t sequence = 0;          // Pending: the place in its lane; smaller is earlier.
  int64_t added_at_us = 0;        // Pending, delayed: when it was added.
  int64_t ready_at_us = 0;        // Delayed: when it becomes pending.
  int64_t delay_us = 0;           // Delayed: the delay that was asked for.
  int64_t quarantined_at_us = 0;  // Quarantined.
  // Quarantined: always there; the count may be 0, for a key that somebody put there.
  std::optional<FailureInfo> failures;
};

// What a queue keeps beside its entries and cursors.
struct QueueInfo {
  std::string name;
  int64_t created_at_us = 0;
  uint64_t sequence_high_water = 0;  // No sequence at or above it was ever given to a key.
  std::string limiter_state;         // Only the queue's limiter can read it.
  // As it is on disk: a pause whose end has passed stands there until the queue is opened.
  bool paused = false;
  int64_t paused_until_us = 0;  // When the pause ends by itself; 0 if it does not.
  uint32_t shards = 0;          // Of the last opening that had any.
};

}  // namespace wq
