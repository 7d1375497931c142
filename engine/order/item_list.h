// ItemList: items in a row, a doubly linked list through Item::prev and next. The items are
// borrowed. All calls are O(1).
#pragma once

#include <cstddef>

#include "engine/order/item.h"

namespace wq {

class ItemList {
 public:
  size_t size() const { return size_; }
  Item* front() const { return front_; }
  void PushBack(Item* item) {
    item->prev = back_;
    item->next = nullptr;
    (back_ == nullptr ? front_ : back_->next) = item;
    back_ = item;
    ++size_;
  }
  void PushFront(Item* item) {
    item->prev = nullptr;
    item->next = front_;
    (front_ == nullptr ? back_ : front_->prev) = item;
    front_ = item;
    ++size_;
  }
  void Remove(Item* item) {
    (item->prev == nullptr ? front_ : item->prev->next) = item->next;
    (item->next == nullptr ? back_ : item->next->prev) = item->prev;
    item->prev = nullptr;
    item->next = nullptr;
    --size_;
  }

 private:
  Item* front_ = nullptr;
  Item* back_ = nullptr;
  size_t size_ = 0;
};

}  // namespace wq
