// ItemList: items in the order of their sequences, which most of them come in. Those are a doubly
// linked list through Item::prev and next; an item that belongs between two of them is in a set
// beside it, so that none is searched for by walking. The items are borrowed.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "absl/container/btree_set.h"
#include "engine/order/item.h"

namespace wq {

class ItemList {
 public:
  size_t size() const { return size_; }
  size_t open_size() const { return size_; }
  Item* front() const { return strays_ == nullptr ? front_ : Older(front_, *strays_->begin()); }
  // REQUIRES: its sequence is greater than those of all items.
  void PushBack(Item* item);
  // O(1) if the item is then the first or the last of those in the list, otherwise O(log items).
  void PutBack(Item* item);
  void Remove(Item* item);
  void PopFront() { Remove(front()); }

  void ForEachFront(const std::function<void(const Item&)>& visit) const {
    if (size_ > 0) {
      visit(*front());
    }
  }

  // The items in their order.
  class Walk;

 private:
  // Two items may have one sequence, as an import could make them: the order is then by key.
  struct IsOlder {
    using is_transparent = void;
    bool operator()(const Item* a, const Item* b) const {
      return a->sequence != b->sequence ? a->sequence < b->sequence : a->key() < b->key();
    }
  };
  using Strays = absl::btree_set<Item*, IsOlder>;
  bool IsStray(const Item& item) const { return item.prev == nullptr && &item != front_; }

  static Item* Older(Item* listed, Item* stray) {
    return listed == nullptr || IsOlder()(stray, listed) ? stray : listed;
  }

  Item* front_ = nullptr;
  Item* back_ = nullptr;
  size_t size_ = 0;  // In the list and in the set.
  // Null: none, as in nearly every list, of which there may be one for each group.
  std::unique_ptr<Strays> strays_;
};

// The list may change during the walk: an item that comes is shown or not. The list may even be
// destroyed when it is empty.
class ItemList::Walk {
 public:
  explicit Walk(const ItemList& items)
      : items_(&items),
        listed_(items.front_),
        stray_(items.strays_ == nullptr ? nullptr : *items.strays_->begin()) {}

  const Item* Next();  // nullptr: there is none.
  // The next items are those behind this one, which is in the list. False: the item came out of its
  // order, and to find its place would take a walk; nothing has changed.
  bool GoBehind(const Item& item);
  // To be called before the item is removed from the list.
  void Leave(const Item& item);

 private:
  const Item* StrayBehind(const Item& item) const;

  const ItemList* items_;
  const Item* listed_;  // The next of each kind; nullptr: there is none.
  const Item* stray_;
};

}  // namespace wq
