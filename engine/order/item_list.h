// ItemList: a doubly linked list through Item::prev and next. The items are borrowed.
#pragma once

#include <cstddef>
#include <functional>

#include "engine/order/item.h"

namespace wq {

class ItemList {
 public:
  size_t size() const { return size_; }
  size_t open_size() const { return size_; }
  Item* front() const { return front_; }
  void PushBack(Item* item);
  // REQUIRES: the items ascend by sequence.
  void Insert(Item* item);
  void PutBack(Item* item) { Insert(item); }
  void Remove(Item* item);
  void PopFront() { Remove(front_); }

  void ForEachFront(const std::function<void(const Item&)>& visit) const {
    if (front_ != nullptr) {
      visit(*front_);
    }
  }
  // False: `visit` has returned false.
  bool ForEach(const std::function<bool(const Item&)>& visit) const;

 private:
  Item* front_ = nullptr;
  Item* back_ = nullptr;
  size_t size_ = 0;
};

}  // namespace wq
