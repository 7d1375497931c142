// Item: one key of a queue and everything the queue knows of it, in one allocation that ends in the
// key's bytes.
//
// Owned by an ItemTable. Thread-compatible: guarded by its queue's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/order/position.h"
#include "engine/order/slabs.h"
#include "engine/order/token_bucket.h"
#include "wq/options.h"

namespace wq {

struct Item;

// The state of a key, as in the table of transitions in wq/queue.h.
enum class KeyState : uint8_t {
  kClean,            // Needs no work. The item has a delay or failures only.
  kQueued,           // Dirty, in the order.
  kProcessing,       // Held by a worker.
  kProcessingDirty,  // Held by a worker and added again; not in the order.
};

// The delay of a key. Its record is on disk exactly while it exists.
struct DelayEntry {
  Item* item = nullptr;     // The item that points here.
  int64_t due_us = 0;       // Steady time; the heap is ordered by it.
  int64_t ready_at_us = 0;  // Wall time; part of the key of the record on disk.
  int64_t delay_us = 0;     // From its begin to due_us: as requested, unless it was prolonged.
  int64_t added_at_us = 0;  // Its begin, wall time.
  Lane lane = kFastLane;    // The lane of the key when it is due.
  uint32_t serial = 0;      // Set by the DelayHeap: the order of equal due times.
  uint32_t heap_index = 0;  // Its place in the DelayHeap.
  bool debounced = false;   // Further Adds of the key prolong it.
  bool resync = false;      // It waits for its resync. Not debounced.
  Position position = 0;    // Of its record.
};
static_assert(sizeof(DelayEntry) == 64);  // There may be millions.
using DelayPointer = Slabs<DelayEntry>::Pointer;

// The failures of a key since its last Forget. Its record is on disk exactly while it exists: in
// the column family quarantine if the key is quarantined, otherwise in failures. count >= 1 unless
// quarantined.
struct FailureEntry {
  bool quarantined = false;
  Lane lane = kFastLane;          // If quarantined: the lane after Release.
  int64_t quarantined_at_us = 0;  // If quarantined: wall time.
  uint64_t count = 0;
  int64_t first_at_us = 0;
  int64_t last_at_us = 0;
  std::string last_error;
};

struct GroupTurn;

// The limits of a group in a queue that has some. See HandOutLimits.
struct GroupFlow {
  bool full = false;  // As many keys are processing as may be.
  bool out_of_tokens = false;
  bool waited = false;      // Keys have waited for the token that is there.
  uint32_t processing = 0;  // Items that point to the group.
  TokenBucket bucket;
  int64_t wakes_at_us = 0;  // Steady time: its place among those that HandOutLimits wakes; 0: none.
};

// Shared by the keys of one group. Owned by a GroupTable, while it is used.
struct Group {
  std::string name;
  size_t items = 0;            // How many items point here.
  GroupTurn* turns = nullptr;  // Of its queued items: a list, by lane, if the order is by group.
  std::unique_ptr<GroupFlow> flow;  // Null: nothing was handed out yet.

  bool used() const { return items > 0 || (flow != nullptr && flow->wakes_at_us != 0); }
  // Whether none of its keys may be handed out now.
  bool closed() const { return flow != nullptr && (flow->full || flow->out_of_tokens); }
};

struct Item {
  // Links of the order; both null unless kQueued.
  Item* prev = nullptr;
  Item* next = nullptr;

  // While the key is dirty or processing: sequence and lane are those of its record on disk.
  uint64_t sequence = 0;
  int64_t added_at_us = 0;  // Wall time. Newer than on disk while kProcessingDirty.
  Position position = 0;    // Of that record.

  DelayPointer delay;
  std::unique_ptr<FailureEntry> failures;

  // While the key is dirty, processing, delayed or quarantined; null if it has none.
  Group* group = nullptr;

  Lane lane = kFastLane;
  uint32_t hash = 0;  // Of the key, by ItemTable.
  uint32_t key_bytes : 24 = 0;
  KeyState state : 2 = KeyState::kClean;
  uint32_t deaths : 3 = 0;     // See QueueState::PutBackDead.
  bool unstamped : 1 = false;  // A transition that is not stamped yet has put the record.
  bool deleted : 1 = false;    // While it was held: Done sets no resync.
  bool caused : 1 = false;     // The item is in the CauseTable.
  uint16_t shard = 0;          // A function of the group, or of the key if it has none.

  // The first bytes of the key, which continues after the Item. There may be millions of items, so
  // no padding is wasted.
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
  // Dirty, processing, delayed or quarantined. The key keeps its group while this is true.
  bool known() const { return state != KeyState::kClean || delay != nullptr || quarantined(); }
  // Whether it has a delay that a caller asked for.
  bool delayed() const { return delay != nullptr && !delay->resync; }
  // The lane for an Add that names none: the present lane of the key.
  Lane present_lane() const {
    if (state != KeyState::kClean) {
      return lane;
    }
    return delayed() ? delay->lane : kFastLane;
  }
  // Nothing is left to know: the table erases the item.
  bool idle() const { return state == KeyState::kClean && delay == nullptr && failures == nullptr; }
};

static_assert(sizeof(Item) == 8 * sizeof(void*) + 16);  // No padding around key_begin.

}  // namespace wq
