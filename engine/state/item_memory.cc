#include "engine/state/item_memory.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace wq {
namespace {

constexpr size_t kKeyOffset = sizeof(Item) - sizeof(Item::key_begin);
constexpr size_t kStepBytes = 8;
constexpr size_t kPools = 24;  // Keys of up to 186 bytes.
static_assert(sizeof(Item) % kStepBytes == 0 && alignof(Item) <= kStepBytes);

// The index of the pool for a key of this length; kPools or more: none, the item is malloc's.
size_t PoolOf(size_t key_bytes) {
  const size_t bytes = std::max(sizeof(Item), kKeyOffset + key_bytes);
  return (bytes - sizeof(Item) + kStepBytes - 1) / kStepBytes;
}

}  // namespace

ItemMemory::ItemMemory() {
  for (size_t i = 0; i < kPools; ++i) {
    pools_.emplace_back(sizeof(Item) + i * kStepBytes);
  }
}

Item* ItemMemory::Make(std::string_view key, uint32_t hash) {
  const size_t pool = PoolOf(key.size());
  void* memory = pool < kPools ? pools_[pool].Take() : ::operator new(kKeyOffset + key.size());
  Item* item = new (memory) Item;
  item->hash = hash;
  item->key_bytes = static_cast<uint32_t>(key.size()) & Item::kKeyBytesMask;
  std::memcpy(static_cast<char*>(memory) + kKeyOffset, key.data(), key.size());
  return item;
}

void ItemMemory::Free(Item* item) {
  const bool pooled = PoolOf(item->key_bytes) < kPools;
  item->~Item();
  if (pooled) {
    SlabPool::Give(item);
  } else {
    ::operator delete(item);
  }
}

void ItemMemory::FreeWithPool(Item* item) {
  const bool pooled = PoolOf(item->key_bytes) < kPools;
  Slabs<DelayEntry>::FreeWithPool(std::move(item->delay));
  item->~Item();
  if (pooled) {
    SlabPool::FreeWithPool(item);
  } else {
    ::operator delete(item);
  }
}

}  // namespace wq
