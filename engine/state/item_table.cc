#include "engine/state/item_table.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "base/check.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace wq {
namespace {

constexpr size_t kLeastPlaces = 16;
constexpr size_t kSmallTable = 4096;  // Tables of this size and below do not shrink.
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kAhead = 16;  // How many places ahead items are loaded into the cache.

// The 16 bits above the pointer: the lowest bits of the hash (the uppermost ones are the home
// place), and below them the distance from home. kFar means kFar or more.
constexpr int kDistanceBits = 6;
constexpr uint64_t kFar = (1U << kDistanceBits) - 1;
constexpr uint64_t kTagBits = 16 - kDistanceBits;

uint64_t Mark(uint32_t hash, size_t distance) {
  const uint64_t tag = hash & ((1U << kTagBits) - 1);
  return tag << kDistanceBits | std::min<uint64_t>(distance, kFar);
}

// All places are empty. A large table asks for huge pages, as its places are accessed at random.
uint64_t* NewPlaces(size_t count) {
  const size_t bytes = count * sizeof(uint64_t);
  void* memory = nullptr;
  if (bytes >= 2 * kHugePage) {
    memory = std::aligned_alloc(kHugePage, bytes);
    if (memory != nullptr) {
      madvise(memory, bytes, MADV_HUGEPAGE);  // Without huge pages it is only slower.
      std::memset(memory, 0, bytes);
    }
  } else {
    memory = std::calloc(count, sizeof(uint64_t));
  }
  if (memory == nullptr) {
    throw std::bad_alloc();  // As operator new does.
  }
  return static_cast<uint64_t*>(memory);
}

}  // namespace

uint32_t HashedKey::HashOf(std::string_view key) {
  return static_cast<uint32_t>(XXH3_64bits(key.data(), key.size()));
}

ItemTable::ItemTable(PlacesSeen* seen) : seen_(seen == nullptr ? &own_seen_ : seen) {
  Resize(kLeastPlaces);
}

ItemTable::~ItemTable() {
  DestroyItems();
  std::free(places_);
}

// Leaves places_ as it was.
void ItemTable::DestroyItems() {
  for (size_t at = 0; at <= mask_; ++at) {
    if (at + kAhead <= mask_) {
      PrefetchAt(at + kAhead);
    }
    if (places_[at] != 0) {
      ItemMemory::FreeWithPool(ItemAt(places_[at]));
    }
  }
}

uint32_t ItemTable::HashAt(uint64_t position) {
  constexpr int kRangeBits = 16;
  auto range = static_cast<uint32_t>(position >> kRangeBits);
  range = (range & 0x5555) << 1 | (range >> 1 & 0x5555);
  range = (range & 0x3333) << 2 | (range >> 2 & 0x3333);
  range = (range & 0x0f0f) << 4 | (range >> 4 & 0x0f0f);
  range = (range & 0x00ff) << 8 | range >> 8;
  return range << kRangeBits | (static_cast<uint32_t>(position) & kRangeMask);
}

size_t ItemTable::LoadPlaces(size_t begin, size_t end, size_t* bytes) const {
  const auto prefetch = [this](size_t at) {
    if (places_[at] != 0) {
      const auto* const begin_of_item = reinterpret_cast<const char*>(ItemAt(places_[at]));
      constexpr size_t kCacheLine = 64;
      __builtin_prefetch(begin_of_item);
      __builtin_prefetch(begin_of_item + kCacheLine);  // Also the begin of its key.
    }
  };
  for (size_t at = begin; at < std::min(begin + kAhead, end); ++at) {
    prefetch(at);
  }
  for (size_t at = begin; at < end; ++at) {
    if (at + kAhead < end) {
      prefetch(at + kAhead);
    }
    if (places_[at] == 0) {
      continue;
    }
    const Item& item = *ItemAt(places_[at]);
    if (item.key_bytes > *bytes && at > begin) {
      *bytes = 0;
      return at;
    }
    *bytes -= std::min<size_t>(item.key_bytes, *bytes);
    if (item.failures != nullptr) {
      __builtin_prefetch(item.failures.get());
    }
    if (item.delay != nullptr) {
      __builtin_prefetch(item.delay.get());
    }
  }
  return end;
}

Item* ItemTable::Find(const HashedKey& key) const {
  const uint32_t hash = key.hash;
  size_t at = Home(hash);
  for (size_t distance = 0; places_[at] != 0; ++distance, at = (at + 1) & mask_) {
    if (places_[at] >> kPointerBits == Mark(hash, distance)) {
      Item* item = ItemAt(places_[at]);
      if (item->hash == hash && item->key() == key.bytes) {
        return item;
      }
    }
  }
  return nullptr;
}

Item* ItemTable::FindOrInsert(const HashedKey& key) {
  const uint32_t hash = key.hash;
  size_t at = Home(hash);
  size_t distance = 0;
  for (; places_[at] != 0; ++distance, at = (at + 1) & mask_) {
    if (places_[at] >> kPointerBits == Mark(hash, distance)) {
      Item* item = ItemAt(places_[at]);
      if (item->hash == hash && item->key() == key.bytes) {
        return item;
      }
    }
  }
  Item* item = memory_.Make(key.bytes, hash);
  if ((size_ + 1) * 4 > (mask_ + 1) * 3) {
    Resize((mask_ + 1) * 2);
    at = Home(hash);
    for (distance = 0; places_[at] != 0; ++distance) {
      at = (at + 1) & mask_;
    }
  }
  SetPlace(item, at, distance);
  ++size_;
  return item;
}

void ItemTable::SetPlace(Item* item, size_t at, size_t distance) {
  const auto pointer = reinterpret_cast<uint64_t>(item);
  WQ_CHECK(pointer >> kPointerBits == 0, "an address of more than 48 bits");
  places_[at] = Mark(item->hash, distance) << kPointerBits | pointer;
}

// The distance of the item at a used place from its home.
size_t ItemTable::DistanceAt(size_t at) const {
  const uint64_t distance = places_[at] >> kPointerBits & kFar;
  return distance < kFar ? distance : (at - Home(ItemAt(places_[at])->hash)) & mask_;
}

// REQUIRES: the item is in the table.
size_t ItemTable::PlaceOf(const Item& item) const {
  size_t at = Home(item.hash);
  while (ItemAt(places_[at]) != &item) {
    WQ_CHECK(places_[at] != 0, "an item that is not in its table");
    at = (at + 1) & mask_;
  }
  return at;
}

void ItemTable::Erase(Item* item) {
  // The following items that are not at home move up, so no tombstone is needed.
  size_t hole = PlaceOf(*item);
  for (size_t next = (hole + 1) & mask_; places_[next] != 0; next = (next + 1) & mask_) {
    const size_t gap = (next - hole) & mask_;
    const size_t distance = DistanceAt(next);
    if (distance >= gap) {
      constexpr Place kDistance = kFar << kPointerBits;
      const Place place = places_[next] & ~kDistance;
      places_[hole] = place | std::min<uint64_t>(distance - gap, kFar) << kPointerBits;
      hole = next;
    }
  }
  places_[hole] = 0;
  --size_;
  ItemMemory::Free(item);
  if (mask_ >= kSmallTable && size_ < mask_ / 16) {
    Resize(std::max(kLeastPlaces, std::bit_ceil(size_ * 2)));
  }
}

void ItemTable::Resize(size_t capacity) {
  Place* const old = places_;
  const size_t old_capacity = old == nullptr ? 0 : mask_ + 1;
  places_ = NewPlaces(capacity);
  mask_ = capacity - 1;
  shift_ = 32 - static_cast<uint32_t>(std::countr_zero(capacity));
  seen_->Set(places_, shift_);
  for (size_t i = 0; i < old_capacity; ++i) {
    if (i + kAhead < old_capacity && old[i + kAhead] != 0) {
      __builtin_prefetch(ItemAt(old[i + kAhead]));
    }
    if (old[i] == 0) {
      continue;
    }
    Item* item = ItemAt(old[i]);
    size_t at = Home(item->hash);
    size_t distance = 0;
    for (; places_[at] != 0; ++distance) {
      at = (at + 1) & mask_;
    }
    SetPlace(item, at, distance);
  }
  std::free(old);
}

}  // namespace wq
