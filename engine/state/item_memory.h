// ItemMemory: where the items of one table lie: in slabs, by their size.
//
//   Item* item = memory.Make("default/pod-1", hash);
//   memory.Free(item);
//
// An item is as long as its key, so there is a pool for each size that keys usually lead to. The few items of
// very long keys are malloc's. Why slabs: a new item costs a tenth of malloc's instructions, one that goes away in
// another thread than it was made in waits for no lock of malloc's, and a table of millions is let go of
// block by block.
//
// Thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>

#include "engine/state/item.h"
#include "engine/state/slabs.h"

namespace wq {

class ItemMemory {
 public:
  ItemMemory();
  ItemMemory(const ItemMemory&) = delete;
  ItemMemory& operator=(const ItemMemory&) = delete;

  Item* Make(std::string_view key, uint32_t hash);
  static void Free(Item* item);
  // Ends the item, but leaves its memory to the end of this object. Its delay is left to the end of its Slabs.
  static void FreeWithPool(Item* item);

 private:
  std::deque<SlabPool> pools_;  // By size: sizeof(Item), and 8 bytes more each.
};

}  // namespace wq
