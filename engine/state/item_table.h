// ItemTable: the hash table that owns the items of one queue and finds them by key.
//
//   Item* item = table.FindOrInsert("default/pod-1");
//
// Open addressing with linear probing. A place is one word of eight bytes: the item's pointer in 48
// bits, and above it ten bits of the key's hash and six for the distance from the item's home
// place. A look-up costs one cache miss in the table and one for the item; erasing an item reads no
// other item. Why not a library's table: a queue of millions of keys spends most of its time in
// these misses (docs/performance.md), and the available containers have one more miss, and read
// every item when they grow.
//
// Thread-compatible; Prefetch is thread-safe.
#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/order/item.h"
#include "engine/state/item_memory.h"

namespace wq {

// A key with its hash, so that a call that searches twice computes it once. The bytes are borrowed.
struct HashedKey {
  template <std::convertible_to<std::string_view> Bytes>
  // NOLINTNEXTLINE(google-explicit-constructor): it is the key.
  HashedKey(const Bytes& key) : bytes(key), hash(HashOf(bytes)) {}

  std::string_view bytes;
  uint32_t hash;

 private:
  static uint32_t HashOf(std::string_view key);
};

// Where a table has its places, for a prefetch by any thread at any time, without a lock: also
// while the table is resized or after it was destroyed, as a prefetch of a wrong address is
// harmless.
class PlacesSeen {
 public:
  // Begins to load the place of the key into the cache.
  void Prefetch(const HashedKey& key) const { Prefetch(key.hash); }
  void Prefetch(uint32_t hash) const {
    const uint64_t* const places = places_.load(std::memory_order_relaxed);
    __builtin_prefetch(places + (uint64_t{hash} >> shift_.load(std::memory_order_relaxed)));
  }
  void Set(const uint64_t* places, uint32_t shift) {
    places_.store(places, std::memory_order_relaxed);
    shift_.store(shift, std::memory_order_relaxed);
  }

 private:
  std::atomic<const uint64_t*> places_{nullptr};
  std::atomic<uint32_t> shift_{32};
};

class ItemTable {
 public:
  // `seen` is kept up to date; borrowed. nullptr: one of its own.
  explicit ItemTable(PlacesSeen* seen = nullptr);
  ~ItemTable();
  ItemTable(const ItemTable&) = delete;
  ItemTable& operator=(const ItemTable&) = delete;

  Item* Find(const HashedKey& key) const;  // nullptr: the key has no item.
  Item* FindOrInsert(const HashedKey& key);
  // Frees the item, and shrinks the table when most places are empty, so that a queue that was long
  // once does not stay large. Amortised O(1).
  void Erase(Item* item);

  // Begins to load the place of the key, or of the item, into the cache. Any thread may call it at
  // any time, without a lock.
  void Prefetch(const HashedKey& key) const { PrefetchPlace(key.hash); }
  void Prefetch(const Item& item) const { PrefetchPlace(item.hash); }

  // The same for the item at the key's home place, which should be in the cache. Not thread-safe.
  void PrefetchItem(const HashedKey& key) const { PrefetchAt(Home(key.hash)); }

  // The end of a walk: all its positions are below it.
  static constexpr uint64_t kWalkEnd = uint64_t{1} << 32;

  // Calls visit(item) for all items from position `from` of a walk up to the returned position,
  // which is behind `from`. So a loop from 0 to kWalkEnd visits each item once, even if the table
  // changes between two calls. Reads about `max_places` places, or fewer if their keys have more
  // than `max_bytes`. REQUIRES: from < kWalkEnd; max_places > 0.
  //
  // A walk goes through ranges of hashes whose order spreads each part of it over the whole table.
  // (If it went through the table from the begin to the end, then a caller that erases what it has
  // visited would leave items in the last part only, and the table, when it shrinks, one long run
  // of used places. A table that is filled in the order of another one's walk would be the same.)
  template <typename Visit>
  uint64_t ForEachFrom(uint64_t from, size_t max_places, size_t max_bytes,
                       const Visit& visit) const {
    if (from == 0 && mask_ < max_places && LoadPlaces(0, mask_ + 1, &max_bytes) > mask_) {
      ForEach(visit);
      return kWalkEnd;
    }
    size_t places = 0;
    do {
      const uint32_t first = HashAt(from);
      const uint32_t last = first | kRangeMask;
      const size_t begin = Home(first);
      const size_t range_end = Home(last) + 1;
      const size_t end =
          LoadPlaces(begin, std::min(range_end, begin + max_places - places), &max_bytes);
      const uint64_t next = end == range_end ? uint64_t{last} + 1 : uint64_t{end} << shift_;
      VisitHashes(first, next, begin, end, visit);
      from += next - first;
      places += end - begin;
    } while (from < kWalkEnd && places < max_places && max_bytes > 0);
    return from;
  }

  size_t capacity() const { return mask_ + 1; }  // Places, used or empty.
  // Calls visit(item) for all, in no order.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (size_t at = 0; at <= mask_; ++at) {
      if (places_[at] != 0) {
        visit(*ItemAt(places_[at]));
      }
    }
  }

 private:
  using Place = uint64_t;  // 0: empty.
  static constexpr int kPointerBits = 48;

  static Item* ItemAt(Place place) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the hash bits beside it save cache misses.
    return reinterpret_cast<Item*>(place & ((Place{1} << kPointerBits) - 1));
  }
  size_t Home(uint32_t hash) const { return static_cast<size_t>(uint64_t{hash} >> shift_); }
  // The hash at a position of a walk: the 16 bits above kRangeMask are the number of the range, and
  // in the position these bits are in the opposite order.
  static constexpr uint32_t kRangeMask = 0xffff;
  static uint32_t HashAt(uint64_t position);
  // Loads the items of the places from `begin` into the cache, and takes the bytes of their keys
  // off *bytes, not below 0. Returns the end of these places: `end`, or where the bytes were used
  // up, but behind `begin`. REQUIRES: begin < end.
  size_t LoadPlaces(size_t begin, size_t end, size_t* bytes) const;
  // Visits the items with a hash of at least `first` and below `next`, whose home places are from
  // `begin` to `end`.
  template <typename Visit>
  void VisitHashes(uint64_t first, uint64_t next, size_t begin, size_t end,
                   const Visit& visit) const {
    const auto visit_at = [&](size_t at) {
      const Item& item = *ItemAt(places_[at]);
      if (item.hash >= first && item.hash < next) {
        visit(item);
      }
    };
    for (size_t at = begin; at < end; ++at) {
      if (places_[at] != 0) {
        visit_at(at);
      }
    }
    // Items that are behind their home places: up to the first empty place.
    const size_t others = mask_ + 1 - (end - begin);
    for (size_t i = 0; i < others && places_[(end + i) & mask_] != 0; ++i) {
      visit_at((end + i) & mask_);
    }
  }
  size_t DistanceAt(size_t at) const;
  size_t PlaceOf(const Item& item) const;
  void SetPlace(Item* item, size_t at, size_t distance);
  void Resize(size_t capacity);
  void DestroyItems();
  // (Prefetching an address that is not mapped is slow, so an empty place is skipped.)
  void PrefetchAt(size_t at) const {
    if (places_[at] != 0) {
      __builtin_prefetch(ItemAt(places_[at]), 1);
    }
  }
  void PrefetchPlace(uint32_t hash) const { seen_->Prefetch(hash); }

  ItemMemory memory_;
  Place* places_ = nullptr;  // mask_ + 1 places; at least a quarter is empty.
  size_t mask_ = 0;          // A power of two, less one.
  uint32_t shift_ = 32;      // The home place is hash >> shift_.
  size_t size_ = 0;

  PlacesSeen own_seen_;  // Unless the caller has one.
  PlacesSeen* const seen_;
};

}  // namespace wq
