// CauseTable: the causes (wq/options.h) of the items of one queue. An item without causes costs
// nothing: Item::caused says whether it is in the table.
//
// Thread-compatible: guarded by its queue's lock.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <memory>

#include "engine/order/item.h"
#include "wq/options.h"

namespace wq {

// The record of an item that is dirty or processing has the causes of `held` and of `dirty`: after
// a crash there is one hand-out for both.
struct ItemCauses {
  Causes dirty;    // Of the next hand-out.
  Causes held;     // Of the hand-out that a worker holds.
  Causes delayed;  // Of the delay.

  bool empty() const { return dirty.empty() && held.empty() && delayed.empty(); }
};

class CauseTable {
 public:
  // nullptr: the item has none.
  ItemCauses* Find(const Item& item) {
    return item.caused ? causes_.find(&item)->second.get() : nullptr;
  }
  const ItemCauses* Find(const Item& item) const {
    return item.caused ? causes_.find(&item)->second.get() : nullptr;
  }
  ItemCauses* FindOrInsert(Item* item) {
    item->caused = true;
    std::unique_ptr<ItemCauses>& causes = causes_[item];
    if (causes == nullptr) {
      causes = std::make_unique<ItemCauses>();
    }
    return causes.get();
  }
  // Takes the item out of the table if it has no cause any more. To be called after each change
  // that makes causes fewer.
  void Trim(Item* item) {
    if (item->caused && Find(*item)->empty()) {
      causes_.erase(item);
      item->caused = false;
    }
  }

 private:
  absl::flat_hash_map<const Item*, std::unique_ptr<ItemCauses>> causes_;
};

}  // namespace wq
