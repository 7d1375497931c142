// ItemMemory: allocates the items of one table, from slabs by their size.
//
//   Item* item = memory.Make("default/pod-1", hash);
//   memory.Free(item);
//
// The size of an item depends on the length of its key, so each common size has a pool. Items of
// very long keys are rare and are malloc's. Why slabs: making an item costs a tenth of malloc's
// instructions, freeing it in another thread than the one that made it takes no lock of malloc's,
// and a table of millions of items is freed block by block.
//
// Thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>

#include "engine/order/item.h"
#include "engine/order/slabs.h"

namespace wq {

class ItemMemory {
 public:
  ItemMemory();
  ItemMemory(const ItemMemory&) = delete;
  ItemMemory& operator=(const ItemMemory&) = delete;

  Item* Make(std::string_view key, uint32_t hash);
  static void Free(Item* item);
  // Destroys the item, but its memory is freed with this object, and that of its delay with its
  // Slabs.
  static void FreeWithPool(Item* item);

 private:
  std::deque<SlabPool> pools_;  // By size: sizeof(Item), then 8 bytes more each.
};

}  // namespace wq
