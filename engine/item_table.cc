#include "engine/item_table.h"

#include <cstring>
#include <new>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace wq {
namespace {

constexpr size_t kSmallTable = 4096;  // Not worth a look.

Item* NewItem(std::string_view key) {
  void* memory = ::operator new(sizeof(Item) + key.size());
  Item* item = new (memory) Item;
  item->key_bytes = static_cast<uint32_t>(key.size());
  std::memcpy(static_cast<char*>(memory) + sizeof(Item), key.data(), key.size());
  return item;
}

void FreeItem(Item* item) {
  item->~Item();
  ::operator delete(item);
}

}  // namespace

size_t ItemTable::KeyHash::operator()(std::string_view key) const {
  return XXH3_64bits(key.data(), key.size());
}

ItemTable::~ItemTable() {
  for (Item* item : items_) {
    FreeItem(item);
  }
}

Item* ItemTable::Find(std::string_view key) const {
  const auto it = items_.find(key);
  return it == items_.end() ? nullptr : *it;
}

Item* ItemTable::FindOrInsert(std::string_view key) {
  return *items_.lazy_emplace(key, [key](const auto& construct) { construct(NewItem(key)); });
}

void ItemTable::Erase(Item* item) {
  items_.erase(item);
  FreeItem(item);
  if (items_.capacity() > kSmallTable && items_.size() < items_.capacity() / 16) {
    items_.rehash(0);  // As small as its size allows.
  }
}

}  // namespace wq
