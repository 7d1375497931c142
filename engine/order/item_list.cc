#include "engine/order/item_list.h"

#include "base/mutant.h"

namespace wq {

void ItemList::PushBack(Item* item) {
  item->prev = back_;
  item->next = nullptr;
  (back_ == nullptr ? front_ : back_->next) = item;
  back_ = item;
  ++size_;
}

// From both ends: an item that was popped belongs near the front. If its lane has changed since, it
// may belong near the back.
void ItemList::Insert(Item* item) {
  Item* next = front_;
  Item* prev = back_;
  while (next != nullptr && next->sequence < item->sequence && prev->sequence > item->sequence) {
    next = next->next;
    prev = prev->prev;
  }
  if (next != nullptr && next->sequence < item->sequence) {
    next = prev->next;
  }
  if (next == nullptr || WQ_MUTANT(put_back_at_the_end)) {
    PushBack(item);
    return;
  }
  item->prev = next->prev;
  item->next = next;
  (next->prev == nullptr ? front_ : next->prev->next) = item;
  next->prev = item;
  ++size_;
}

void ItemList::Remove(Item* item) {
  (item->prev == nullptr ? front_ : item->prev->next) = item->next;
  (item->next == nullptr ? back_ : item->next->prev) = item->prev;
  item->prev = nullptr;
  item->next = nullptr;
  --size_;
}

bool ItemList::ForEach(const std::function<bool(const Item&)>& visit) const {
  for (const Item* item = front_; item != nullptr; item = item->next) {
    if (!visit(*item)) {
      return false;
    }
  }
  return true;
}

}  // namespace wq
