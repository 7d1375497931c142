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
  void Insert(Item* item);
  void PutBack(Item* item) { Insert(item); }
  void Remove(Item* item);
  void PopFront() { Remove(front()); }

  void ForEachFront(const std::function<void(const Item&)>& visit) const {
    if (size_ > 0) {
      visit(*front());
    }
  }
  // False: `visit` has returned false.
  bool ForEach(const std::function<bool(const Item&)>& visit) const;

  // The items in their order: Next until it is nullptr, while the list does not change.
  class Walk;

 private:
  // Two items may have one sequence, as an import could make them: the order is then by key.
  struct IsOlder {
    bool operator()(const Item* a, const Item* b) const {
      return a->sequence != b->sequence ? a->sequence < b->sequence : a->key() < b->key();
    }
  };
  using Strays = absl::btree_set<Item*, IsOlder>;

  static Item* Older(Item* listed, Item* stray) {
    return listed == nullptr || IsOlder()(stray, listed) ? stray : listed;
  }

  Item* front_ = nullptr;
  Item* back_ = nullptr;
  size_t size_ = 0;  // In the list and in the set.
  // Null: none, as in nearly every list, of which there may be one for each group.
  std::unique_ptr<Strays> strays_;
};

class ItemList::Walk {
 public:
  explicit Walk(const ItemList& items) : listed_(items.front_) {
    if (items.strays_ != nullptr) {
      stray_ = items.strays_->begin();
      end_ = items.strays_->end();
    }
  }
  const Item* Next();

 private:
  const Item* listed_;
  Strays::const_iterator stray_;
  Strays::const_iterator end_;
};

}  // namespace wq
