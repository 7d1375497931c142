// Entry: one key of a queue in one state, as it is stored. StoreView shows entries.
//
//   view->ForEachEntry("pods", wq::EntryStates(wq::EntryState::kPending), [](const wq::Entry& e) {
//     std::cout << wq::EscapeKey(e.key) << " " << wq::LaneName(e.lane) << "\n";
//     return true;
//   });
//
// Times are microseconds since 1970-01-01T00:00:00Z.
// Threading: thread-compatible; plain values. Lifetime: the caller's. A crash: does not concern
// them; they are copies.
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
  kPending = 0,  // Dirty: queued, or processing now or at the crash.
  kDelayed = 1,
  kFailing = 2,  // Only has a failure count: neither pending nor delayed nor quarantined.
  kQuarantined = 3,
};
inline constexpr size_t kEntryStateCount = 4;

// Returns "pending", "delayed", "failing" or "quarantined".
std::string_view EntryStateName(EntryState state);
// Parses what EntryStateName returns; nullopt for anything else.
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

// One entry of a queue. A key that is both pending and delayed has two entries; so has a key that
// was quarantined while a worker held it, until the worker calls Done.
struct Entry {
  std::string key;
  EntryState state = EntryState::kPending;
  Lane lane = kFastLane;          // Not failing. Quarantined: the lane that a release adds it to.
  std::string group;              // Not failing. Empty: none.
  std::optional<uint32_t> shard;  // Not failing; only in a queue with shards.
  uint64_t sequence = 0;          // Pending: the place in its lane; smaller is earlier.
  int64_t added_at_us = 0;        // Pending, delayed: when it was added.
  int64_t ready_at_us = 0;        // Delayed: when it becomes pending.
  int64_t delay_us = 0;           // Delayed: the requested delay.
  bool debounced = false;         // Delayed: further Adds of the key prolong the delay.
  bool resync = false;            // Delayed: until its resync, see QueueOptions; not debounced.
  int64_t quarantined_at_us = 0;  // Quarantined.
  Causes causes = {};             // Pending, delayed: why.
  // Quarantined: always set; the count may be 0, for a key that Queue::Quarantine put there.
  std::optional<FailureInfo> failures;
};

// A source of a queue (source.h), and an object of one, as they are stored.
struct SourceRow {
  std::string name = {};
  uint64_t fingerprint = 0;  // Hashes of those of its last list.
  uint64_t scope = 0;
};
struct ObjectRow {
  std::string source = {};
  std::string object = {};
  std::string version = {};  // Empty: it counts as changed.
  std::string keys = {};     // Each after its length as a varint; the length 0: the object.
  std::string tombstone = {};
  uint64_t fingerprint = 0;
  uint64_t scope = 0;
};

// What a store keeps about a queue besides its entries and cursors.
struct QueueInfo {
  std::string name;
  int64_t created_at_us = 0;
  uint64_t sequence_high_water = 0;  // No key was ever given a sequence at or above it.
  std::string limiter_state;         // Only the queue's limiter can read it.
  // As it is on disk: a pause whose end has passed stays there until the queue is opened.
  bool paused = false;
  int64_t paused_until_us = 0;  // When the pause ends by itself; 0: only by Resume.
  int64_t pause_us = 0;         // How long that pause was asked to be. 0: not known.
  int64_t paused_at_us = 0;     // When it began.
  uint32_t shards = 0;          // As in the last opening with shards.
};

}  // namespace wq
