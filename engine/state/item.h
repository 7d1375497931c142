// Item: one key of a queue and all that is known of it, in one allocation that ends in the key's
// bytes.
//
// Owned by an ItemTable. Thread-compatible: lives under its queue's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/state/position.h"
#include "engine/state/slabs.h"
#include "wq/options.h"

namespace wq {

struct Item;

// Where the key stands in the table of queue.h.
enum class KeyState : uint8_t {
  kClean,            // Needs no work. Known only for its delay or its failures.
  kQueued,           // Dirty, in the order.
  kProcessing,       // Held by a worker.
  kProcessingDirty,  // Held by a worker and added again; not in the order.
};

// A delayed entry. On disk as long as it exists.
struct DelayEntry {
  Item* item = nullptr;     // The one that points here.
  int64_t due_us = 0;       // Steady time; what the heap is ordered by.
  int64_t ready_at_us = 0;  // Wall time; the key of the record on disk.
  int64_t delay_us = 0;     // As asked for.
  int64_t added_at_us = 0;  // Wall time.
  Lane lane = kFastLane;    // Where the key goes when it is due.
  size_t heap_index = 0;    // Its place in the DelayHeap.
  Position position = 0;    // Of its record.
};
using DelayPointer = Slabs<DelayEntry>::Pointer;

// The failures since the last Forget, in family failures or, of a quarantined key, in quarantine. On disk
// as long as it exists; count >= 1 unless quarantined.
struct FailureEntry {
  bool quarantined = false;
  Lane lane = kFastLane;          // Quarantined: where the key goes when it is released.
  int64_t quarantined_at_us = 0;  // Quarantined: wall time.
  uint64_t count = 0;
  int64_t first_at_us = 0;
  int64_t last_at_us = 0;
  std::string last_error;
};

// The keys of one group share it. Owned by a GroupTable while `items` is not 0.
struct Group {
  std::string name;
  size_t items = 0;  // That point here.
};

struct Item {
  // Links of the order; both null unless kQueued.
  Item* prev = nullptr;
  Item* next = nullptr;

  // While dirty or processing: exactly what the record on disk says (lane too). Items of one lane
  // are queued in the order of their sequences.
  uint64_t sequence = 0;
  int64_t added_at_us = 0;  // Newer than on disk while kProcessingDirty.
  Position position = 0;    // Of that record.

  DelayPointer delay;
  std::unique_ptr<FailureEntry> failures;

  // While the key is dirty, processing, delayed or quarantined; null if it has none.
  Group* group = nullptr;

  Lane lane = kFastLane;
  uint32_t hash = 0;  // Of the key; the table's.
  uint32_t key_bytes : 24 = 0;
  KeyState state = KeyState::kClean;
  uint16_t shard = 0;  // Follows from the group, or the key.

  // The key begins here and goes on behind the Item: there may be millions of them, and no gap is wasted.
  char key_begin[2] = {};

  static constexpr uint32_t kKeyBytesMask = (1U << 24) - 1;

  std::string_view key() const {
    return {reinterpret_cast<const char*>(this) + sizeof(Item) - sizeof key_begin, key_bytes};
  }
  std::string_view group_name() const {
    return group == nullptr ? std::string_view() : group->name;
  }
  bool dirty() const { return state == KeyState::kQueued || state == KeyState::kProcessingDirty; }
  bool processing() const {
    return state == KeyState::kProcessing || state == KeyState::kProcessingDirty;
  }
  bool quarantined() const { return failures != nullptr && failures->quarantined; }
  // The queue knows more of the key than its failures; as long as that is so, it keeps its group.
  bool known() const { return state != KeyState::kClean || delay != nullptr || quarantined(); }
  // The lane that the key has already, whatever it is known for.
  Lane present_lane() const {
    if (state != KeyState::kClean) {
      return lane;
    }
    return delay != nullptr ? delay->lane : kFastLane;
  }
  // Nothing is known of the key any more: the table drops it.
  bool idle() const { return state == KeyState::kClean && delay == nullptr && failures == nullptr; }
};

static_assert(sizeof(Item) == 8 * sizeof(void*) + 16);  // No gap before key_begin or behind it.

}  // namespace wq
