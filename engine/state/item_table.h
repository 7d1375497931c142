// ItemTable: the items of one queue by key. Owns them.
//
//   Item* item = table.FindOrInsert("default/pod-1");
//
// Open addressing, a word of eight bytes for each place: the item's pointer and, in the sixteen bits above
// it, ten bits of its hash and how far it is from home. A look-up is one cache miss in the table and one
// for the item; taking an item out touches no other one. Why own code: a queue of millions of keys
// spends most of its time in these misses (docs/performance.md), and the containers that there are have
// one more, and look at every item anew when they grow.
//
// Thread-compatible, but for Prefetch.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/state/item.h"
#include "engine/state/item_memory.h"

namespace wq {

class ItemTable {
 public:
  ItemTable();
  ~ItemTable();
  ItemTable(const ItemTable&) = delete;
  ItemTable& operator=(const ItemTable&) = delete;

  Item* Find(std::string_view key) const;  // nullptr if there is none.
  Item* FindOrInsert(std::string_view key);
  // Frees it, and the table's memory when most of it stands empty: a queue that was long once does not
  // stay large. Amortised O(1).
  void Erase(Item* item);

  // Begins to bring a look-up of the key, or the item, into the cache. Any thread may call it at any time.
  void Prefetch(std::string_view key) const { PrefetchPlace(Hash(key)); }
  void Prefetch(const Item& item) const { PrefetchPlace(item.hash); }

  // The same for the item at the key's home, once that is in the cache. Not any thread.
  void PrefetchItem(std::string_view key) const { PrefetchAt(Home(Hash(key))); }

  size_t capacity() const { return mask_ + 1; }  // Places, taken or not.
  // In no order.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (size_t at = 0; at <= mask_; ++at) {
      if (places_[at] != 0) {
        visit(*ItemAt(places_[at]));
      }
    }
  }

 private:
  using Place = uint64_t;  // 0 if nothing is there.
  static constexpr int kPointerBits = 48;

  static uint32_t Hash(std::string_view key);
  static Item* ItemAt(Place place) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the hash beside it is what makes a miss cheap.
    return reinterpret_cast<Item*>(place & ((Place{1} << kPointerBits) - 1));
  }
  size_t Home(uint32_t hash) const { return static_cast<size_t>(uint64_t{hash} >> shift_); }
  size_t DistanceAt(size_t at) const;
  size_t PlaceOf(const Item& item) const;
  void Settle(Item* item, size_t at, size_t distance);
  void Resize(size_t capacity);
  // Begins to bring the item at a place into the cache. (To look for an address that is none costs more.)
  void PrefetchAt(size_t at) const {
    if (places_[at] != 0) {
      __builtin_prefetch(ItemAt(places_[at]), 1);
    }
  }
  void PrefetchPlace(uint32_t hash) const {
    // Whatever the two are, of whichever moment: an address that is no longer one does no harm.
    const Place* places = places_seen_.load(std::memory_order_relaxed);
    __builtin_prefetch(places + (uint64_t{hash} >> shift_seen_.load(std::memory_order_relaxed)));
  }

  ItemMemory memory_;
  Place* places_ = nullptr;  // mask_ + 1 of them; a quarter, at least, is empty.
  size_t mask_ = 0;          // A power of two, less one.
  uint32_t shift_ = 32;      // An item's home is the uppermost bits of its hash.
  size_t size_ = 0;

  // Copies for Prefetch.
  std::atomic<const Place*> places_seen_{nullptr};
  std::atomic<uint32_t> shift_seen_{32};
};

}  // namespace wq
